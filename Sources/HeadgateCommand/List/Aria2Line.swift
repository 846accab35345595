import HeadgateDispatch

/// A line of a list in the format of aria2.
enum Aria2Line: Equatable {
  case urls([String])
  /// An option of the URLs above it.
  case option(name: String, value: String)
  case nothing
  case bad(ListLine)

  init(_ line: RawLine) {
    guard case .whole(let bytes) = line else {
      self = .bad(ListLine(line))
      return
    }
    let isIndented = bytes.first == UInt8(ascii: " ") || bytes.first == UInt8(ascii: "\t")
    let fields = isIndented ? [bytes] : bytes.split(separator: UInt8(ascii: "\t"))
    var texts: [String] = []
    for field in fields {
      switch ListLine(text: field) {
      case .url(let text): texts.append(text)
      case .nothing where texts.isEmpty:
        self = .nothing
        return
      case .nothing: break
      case let bad:
        self = .bad(bad)
        return
      }
    }
    guard let first = texts.first else {
      self = .nothing
      return
    }
    self = isIndented ? Self.option(first) : .urls(texts)
  }

  private static func option(_ text: String) -> Aria2Line {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let isName =
      !parts[0].isEmpty
      && parts[0].utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D || (0x30...0x39).contains($0) }
    guard parts.count == 2, isName else {
      return .bad(
        ListLine.bad(
          text, because: "an indented line is an option of the URL above it: write name=value, and don't indent URLs"
        ))
    }
    return .option(name: parts[0], value: parts[1])
  }
}
