import HeadgateReport

/// A row as read.
struct RawRow: Sendable {
  /// The line on which it begins, from 1.
  let line: Int
  let content: RowContent
  /// Its size in bytes.
  let size: Int
  /// The row, or the problem with it.
  let value: Result<JSONValue, RowProblem>

  /// Creates a row that was parsed.
  init(line: Int, size: Int, _ value: JSONValue) {
    (self.line, self.size, content, self.value) = (line, size, RowContent(value), .success(value))
  }

  /// Creates a row that could not be parsed.
  init(line: Int, unreadable bytes: [UInt8], _ problem: String) {
    (self.line, size, content) = (line, bytes.count, RowContent(unreadable: bytes))
    value = .failure(.invalid(problem))
  }
}

/// The maximum size of a row in bytes: a row may contain a file of some megabytes.
enum RowSize {
  static let longest = 16 << 20

  static func problem(_ longest: Int) -> String { "it is longer than \(Amount.bytes(longest))" }
}

/// Splits NDJSON into rows: one JSON object per line. Blank lines are skipped. Holds at most one line in memory.
struct NDJSONCutter: InputCutter {
  private var partial: [UInt8] = []
  private var isTooLong = false
  private var hasBegun = false
  /// The list is one JSON array. None of its lines is a row: its last element alone could be taken for one.
  private var isArray = false
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

  private static let aboutArrays =
    "it begins a JSON array, so no row is read: one JSON object per line is needed; convert the list with jq -c '.[]'"

  /// The advice if the input as a whole is not NDJSON.
  private func advice(_ bytes: [UInt8]) -> String {
    guard line == 1, bytes.first != UInt8(ascii: "{") else { return "" }
    return "; give --csv for CSV, and use headgate fetch for a list of URLs"
  }

  mutating func finish() -> [RawRow] {
    defer { (partial, isTooLong) = ([], false) }
    var bytes = partial
    if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return [] }
    guard !isArray else { return [] }
    if !hasBegun, bytes.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "[") {
      isArray = true
      return [RawRow(line: line, unreadable: bytes, NDJSONCutter.aboutArrays)]
    }
    hasBegun = true
    guard !isTooLong else { return [RawRow(line: line, unreadable: bytes, RowSize.problem(longest))] }
    do throws(JSONError) {
      let value = try JSONReader.read(bytes)
      guard case .object = value else {
        return [RawRow(line: line, unreadable: bytes, "it is \(value.kind); a row must be a JSON object")]
      }
      return [RawRow(line: line, size: bytes.count, value)]
    } catch {
      return [RawRow(line: line, unreadable: bytes, "it is not JSON: \(error)" + advice(bytes))]
    }
  }
}
