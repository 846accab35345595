/// The records of a log, read piece by piece.
package struct RunLog: Sendable {
  /// The rest of a longer log is counted and left out, because browsers could not open a larger page.
  package static let mostRecords = 1_000_000

  package private(set) var records: [LogRecord] = []
  /// The number of records beyond ``mostRecords``.
  package private(set) var leftOut = 0
  /// The number of lines that are not records: truncated lines, and lines of other programs.
  package private(set) var strangeLines = 0
  private var rest: [UInt8] = []

  package init() {}

  /// Adds the next piece, which may end within a line. O(n).
  package mutating func add(_ piece: [UInt8]) {
    var start = 0
    for place in piece.indices where piece[place] == UInt8(ascii: "\n") {
      if rest.isEmpty {
        take(piece[start..<place])
      } else {
        rest += piece[start..<place]
        take(rest[...])
        rest = []
      }
      start = place + 1
    }
    rest += piece[start...]
  }

  /// Takes the rest as the last line: a killed run may have left it without a line end.
  package mutating func finish() {
    take(rest[...])
    rest = []
  }

  private mutating func take(_ line: ArraySlice<UInt8>) {
    guard line.contains(where: { $0 > 0x20 }) else { return }
    guard let record = LogRecord(line) else { return strangeLines += 1 }
    if records.count < Self.mostRecords { records.append(record) } else { leftOut += 1 }
  }
}
