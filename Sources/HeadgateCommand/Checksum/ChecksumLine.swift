/// A line in the format of `sha256sum`.
struct ChecksumLine: Hashable {
  let name: String
  let checksum: Checksum

  /// Reads `SUM  NAME`, `SUM *NAME`, `\SUM  NAME` with escapes in the name, or `SHA256 (NAME) = SUM`.
  init?(_ line: String) {
    if line.utf8.starts(with: "SHA256 (".utf8), let end = line.utf8.lastRange(of: ") = ") {
      guard let checksum = Checksum(line[end.upperBound...]) else { return nil }
      self.init(String(line[line.utf8.index(line.startIndex, offsetBy: 8)..<end.lowerBound]), checksum)
      return
    }
    let isEscaped = line.utf8.first == UInt8(ascii: "\\")
    let rest = line.utf8.dropFirst(isEscaped ? 1 : 0)
    guard let checksum = Checksum(String(decoding: rest.prefix(64), as: UTF8.self)) else { return nil }
    let name = rest.dropFirst(64)
    guard name.count > 2, name.first == UInt8(ascii: " "), " *".utf8.contains(name[name.index(after: name.startIndex)])
    else { return nil }
    let text = String(decoding: name.dropFirst(2), as: UTF8.self)
    self.init(isEscaped ? Self.unescaped(text) : text, checksum)
  }

  private init(_ name: String, _ checksum: Checksum) {
    self.name = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
    self.checksum = checksum
  }

  private static func unescaped(_ name: String) -> String {
    // By bytes: with a mark after it, an escape is not the same characters.
    var bytes: [UInt8] = []
    var rest = name.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let escaped = rest.first else {
        bytes.append(byte)
        continue
      }
      switch escaped {
      case UInt8(ascii: "\\"): bytes.append(byte)
      case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
      default: bytes += [byte, escaped]
      }
      rest.removeFirst()
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension String.UTF8View {
  /// The last occurrence of a text.
  fileprivate func lastRange(of text: String) -> Range<Index>? { ranges(of: Array(text.utf8)).last }
}
