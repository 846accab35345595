/// A line of a journal: a checksum, a word, and its arguments, separated by tabs. The checksum detects lines that a
/// crash has cut off or mixed with others.
package enum JournalLine {
  /// Encodes a word and its arguments as a line, with the line feed.
  package static func text(_ fields: [String]) -> String {
    var text: [UInt8] = []
    for (index, field) in fields.enumerated() {
      if index > 0 { text.append(UInt8(ascii: "\t")) }
      text += escaped(Array(field.utf8))
    }
    return "\(check(text[...]))\t\(String(decoding: text, as: UTF8.self))\n"
  }

  /// Decodes a line without its line feed. Nil if the checksum does not match.
  package static func fields(_ line: ArraySlice<UInt8>) -> [String]? {
    guard line.count > 9, line[line.startIndex + 8] == UInt8(ascii: "\t") else { return nil }
    let text = line.dropFirst(9)
    guard line.prefix(8).elementsEqual(check(text).utf8) else { return nil }
    return text.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(unescaped)
  }

  private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
    if bytes.allSatisfy(isPlain) { return bytes }
    return bytes.flatMap { byte in
      isPlain(byte) ? [byte] : Array("\\x\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\\")
  }

  private static func unescaped(_ text: ArraySlice<UInt8>) -> String {
    guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.first {
      let code = rest.dropFirst(2).prefix(2)
      if byte == UInt8(ascii: "\\"), let value = UInt8(String(decoding: code, as: UTF8.self), radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(4)
      } else {
        bytes.append(byte)
        rest = rest.dropFirst()
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // FNV-1a with 32 bits. It protects against accidents, not against tampering.
  private static func check(_ bytes: ArraySlice<UInt8>) -> String {
    var hash: UInt32 = 2_166_136_261
    for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
