/// A URL of a list in its stored form, with its file name and its index.
struct StoredLine: Hashable, Sendable {
  let url: String
  /// The name of its file.
  let name: String
  /// Its place among all URLs.
  let index: Int

  /// Appends its encoding: the lengths of both texts, the index, and the texts.
  func encode(into bytes: inout [UInt8]) {
    for number in [url.utf8.count, name.utf8.count, index] {
      withUnsafeBytes(of: UInt64(number).littleEndian) { bytes += $0 }
    }
    bytes += url.utf8
    bytes += name.utf8
  }

  /// Reads a line from the front of the bytes, with its length in bytes. Nil if it is incomplete.
  static func decode(_ bytes: ArraySlice<UInt8>) -> (line: StoredLine, length: Int)? {
    guard bytes.count >= header else { return nil }
    let numbers = (0..<3).map { place in
      bytes.dropFirst(8 * place).prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let (url, name) = (numbers[0], numbers[1])
    let rest = bytes.dropFirst(header)
    guard url >= 0, name >= 0, url <= rest.count, name <= rest.count - url else { return nil }
    let line = StoredLine(
      url: String(decoding: rest.prefix(url), as: UTF8.self),
      name: String(decoding: rest.dropFirst(url).prefix(name), as: UTF8.self),
      index: numbers[2])
    return (line, header + url + name)
  }

  /// Reads lines from the front of the bytes, at most `most`, with their total length in bytes.
  static func decode(_ bytes: [UInt8], atMost most: Int) -> (lines: [StoredLine], length: Int) {
    var lines: [StoredLine] = []
    var length = 0
    while lines.count < most, let (line, size) = decode(bytes[length...]) {
      lines.append(line)
      length += size
    }
    return (lines, length)
  }

  private static let header = 24
}
