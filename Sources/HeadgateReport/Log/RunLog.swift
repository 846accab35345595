/// The records of a log, read piece by piece.
package struct RunLog: Sendable {
  /// Of a longer log the rest is counted and left out: a page of more would not open in a browser.
  package static let mostRecords = 1_000_000

  package private(set) var records: [LogRecord] = []
  /// Records beyond ``mostRecords``.
  package private(set) var leftOut = 0
  /// Lines that are no records: torn ones, those of other programs.
  package private(set) var strangeLines = 0
  private var rest: [UInt8] = []

  package init() {}

  /// Takes the next piece, which may end within a line. O(n).
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

  /// Takes what is left as the last line: that of a run that was killed may have no end.
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
