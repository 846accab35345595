import HeadgateReport

/// A row as it was read.
struct RawRow: Sendable {
  /// The line that it begins on, from 1.
  let line: Int
  let content: RowContent
  /// Its bytes.
  let size: Int
  /// The row; what is wrong with it otherwise.
  let value: Result<JSONValue, RowProblem>

  /// A row that was read.
  init(line: Int, size: Int, _ value: JSONValue) {
    (self.line, self.size, content, self.value) = (line, size, RowContent(value), .success(value))
  }

  /// One that could not be read.
  init(line: Int, unreadable bytes: [UInt8], _ problem: String) {
    (self.line, size, content) = (line, bytes.count, RowContent(unreadable: bytes))
    value = .failure(.invalid(problem))
  }
}

/// The longest row, in bytes: a row may have a file of some megabytes in it.
enum RowSize {
  static let longest = 16 << 20

  static func problem(_ longest: Int) -> String { "it is longer than \(Amount.bytes(longest))" }
}

/// Rows as NDJSON: one JSON object a line. Blank lines are passed over. Holds no more than one line.
struct NDJSONCutter: InputCutter {
  private var partial: [UInt8] = []
  private var isTooLong = false
  private var line = 1
  private let longest: Int

  init(longest: Int = RowSize.longest) { self.longest = longest }

  var lines: Int { line - 1 }

  mutating func cut(_ piece: [UInt8]) -> [RawRow] {
    var rows: [RawRow] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      keep(rest[..<end])
      rows += finish()
      line += 1
      rest = rest[(end + 1)...]
    }
    keep(rest)
    return rows
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let room = longest - partial.count
    if bytes.count > room { isTooLong = true }
    partial += bytes.prefix(room)
  }

  mutating func finish() -> [RawRow] {
    defer { (partial, isTooLong) = ([], false) }
    var bytes = partial
    if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return [] }
    guard !isTooLong else { return [RawRow(line: line, unreadable: bytes, RowSize.problem(longest))] }
    do throws(JSONError) {
      let value = try JSONReader.read(bytes)
      guard case .object = value else {
        return [RawRow(line: line, unreadable: bytes, "it is \(value.kind); a row is a JSON object")]
      }
      return [RawRow(line: line, size: bytes.count, value)]
    } catch {
      return [RawRow(line: line, unreadable: bytes, "it is not JSON: \(error)")]
    }
  }
}
