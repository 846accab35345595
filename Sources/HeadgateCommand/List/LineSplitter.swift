/// A line of a list with its number.
struct NumberedLine: Equatable, Sendable {
  let number: Int
  let line: ListLine
}

/// Cuts a list with one URL per line, which arrives in pieces, into lines.
struct LineSplitter: InputCutter {
  private var raw = RawLines()

  var lines: Int { raw.number }

  /// The lines that end in this piece, without blank lines and comments.
  mutating func cut(_ piece: [UInt8]) -> [NumberedLine] {
    var lines: [NumberedLine] = []
    raw.cut(piece) { number, line in Self.add(number, line, to: &lines) }
    return lines
  }

  /// The last line, if the list does not end with a line feed.
  mutating func finish() -> [NumberedLine] {
    var lines: [NumberedLine] = []
    raw.finish { number, line in Self.add(number, line, to: &lines) }
    return lines
  }

  private static func add(_ number: Int, _ line: RawLine, to lines: inout [NumberedLine]) {
    let line = ListLine(line)
    if line != .nothing { lines.append(NumberedLine(number: number, line: line)) }
  }
}

extension ListLine {
  init(_ line: RawLine) {
    switch line {
    case .whole(let bytes): self.init(bytes)
    case .tooLong(let bytes):
      self.init(
        tooLong: bytes, reason: "it is longer than \(RawLines.longest / 1024) KiB; write one URL per line")
    }
  }
}
