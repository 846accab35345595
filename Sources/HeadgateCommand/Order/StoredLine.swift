import HeadgateDispatch

/// A URL of a list in its stored form, with its file name and its index.
struct StoredLine: Hashable, Sendable {
  let url: String
  /// The name of its file.
  let name: String
  /// Its place among all URLs.
  let index: Int
  /// Its line in its list.
  var line = 0

  var checksum: Checksum?
  var mirrors: [String] = []

  /// Appends its encoding: the lengths of the texts, the index, the line, and the texts.
  func encode(into bytes: inout [UInt8]) {
    // No URL has a tab in it.
    let rest =
      checksum == nil && mirrors.isEmpty ? "" : ([checksum?.description ?? ""] + mirrors).joined(separator: "\t")
    for number in [url.utf8.count, name.utf8.count, rest.utf8.count, index, line] {
      withUnsafeBytes(of: UInt64(number).littleEndian) { bytes += $0 }
    }
    bytes += url.utf8
    bytes += name.utf8
    bytes += rest.utf8
  }

  /// Reads a line from the front of the bytes, with its length in bytes. Nil if it is incomplete.
  static func decode(_ bytes: ArraySlice<UInt8>) -> (line: StoredLine, length: Int)? {
    guard bytes.count >= header else { return nil }
    let numbers = (0..<5).map { place in
      bytes.dropFirst(8 * place).prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    var rest = bytes.dropFirst(header)
    var texts: [String] = []
    for length in numbers[..<3] {
      guard length >= 0, length <= rest.count else { return nil }
      texts.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length)
    }
    let fields =
      texts[2].isEmpty ? [] : texts[2].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    let line = StoredLine(
      url: texts[0], name: texts[1], index: numbers[3], line: numbers[4],
      checksum: fields.first.flatMap { Checksum($0) },
      mirrors: Array(fields.dropFirst()))
    return (line, rest.startIndex - bytes.startIndex)
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

  private static let header = 40
}
