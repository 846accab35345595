import HeadgateDispatch

/// A line in the format of `sha256sum`.
struct ChecksumLine: Hashable {
  let name: String
  let checksum: Checksum

  /// Reads what `sha256sum -c` reads: `SUM  NAME`, `SUM *NAME`, `SUM NAME`, or `SHA256 (NAME) = SUM`, each also with a
  /// backslash before it and escapes in the name; and what OpenSSL writes, `SHA2-256(NAME)= SUM`.
  ///
  /// - Parameter line: Without its line feed. A carriage return at its end is not a part of it.
  init?(_ line: some Collection<UInt8>) {
    var rest = Array(line)[...]
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    rest = rest.drop(while: Self.isSpace)
    let isEscaped = rest.first == UInt8(ascii: "\\")
    if isEscaped { rest.removeFirst() }
    guard let (name, checksum) = Self.tagged(rest) ?? Self.plain(rest), !name.isEmpty else { return nil }
    let text = String(decoding: isEscaped ? Self.unescaped(name) : Array(name), as: UTF8.self)
    self.init(text, checksum)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func plain(_ line: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, Checksum)? {
    let name = line.dropFirst(64)
    guard let space = name.first, isSpace(space), let checksum = checksum(line.prefix(64)) else { return nil }
    let isDoubled = name.count > 2 && " *".utf8.contains(name[name.startIndex + 1])
    return (name.dropFirst(isDoubled ? 2 : 1), checksum)
  }

  private static func tagged(_ line: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, Checksum)? {
    guard let tag = ["SHA256", "SHA2-256"].first(where: { line.starts(with: $0.utf8) }) else { return nil }
    let rest = line.dropFirst(tag.utf8.count).drop(while: isSpace)
    guard rest.first == UInt8(ascii: "("), let checksum = checksum(rest.suffix(64)) else { return nil }
    var name = rest.dropFirst().dropLast(64)
    while let last = name.last, isSpace(last) { name.removeLast() }
    guard name.popLast() == UInt8(ascii: "=") else { return nil }
    while let last = name.last, isSpace(last) { name.removeLast() }
    return name.popLast() == UInt8(ascii: ")") ? (name, checksum) : nil
  }

  private static func checksum(_ digits: ArraySlice<UInt8>) -> Checksum? {
    Checksum(String(decoding: digits, as: UTF8.self))
  }

  private init(_ name: String, _ checksum: Checksum) {
    self.name = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
    self.checksum = checksum
  }

  private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = name
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
        bytes.append(byte)
        continue
      }
      switch escaped {
      case UInt8(ascii: "\\"): bytes.append(byte)
      case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
      default: bytes += [byte, escaped]
      }
    }
    return bytes
  }
}

/// A line of a file of checksums that is not blank and no comment.
struct NumberedChecksum: Sendable {
  let number: Int
  /// Nil if the line has no SHA-256 checksum.
  let sum: ChecksumLine?

  init?(_ number: Int, _ line: RawLine) {
    self.number = number
    guard case .whole(let bytes) = line else {
      sum = nil
      return
    }
    guard bytes.first != UInt8(ascii: "#"), bytes.contains(where: { $0 > UInt8(ascii: " ") }) else { return nil }
    sum = ChecksumLine(bytes)
  }
}
