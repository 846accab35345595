/// A line of a list with its number.
struct NumberedLine: Equatable, Sendable {
  let number: Int
  let line: ListLine
}

/// Cuts a list that arrives in pieces into lines. Holds no more than one line, and at most ``longest`` bytes of it.
struct LineSplitter: InputCutter {
  static let longest = 64 * 1024

  private var partial: [UInt8] = []
  private var isTooLong = false
  private var number = 0

  var lines: Int { number }

  /// The lines that end in this piece, without blank lines and comments.
  mutating func cut(_ piece: [UInt8]) -> [NumberedLine] {
    var lines: [NumberedLine] = []
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      if let line = line(endingWith: rest[..<end]) { lines.append(line) }
      rest = rest[(end + 1)...]
    }
    keep(rest)
    return lines
  }

  /// The last line, if the list does not end with a line feed.
  mutating func finish() -> [NumberedLine] { line(endingWith: []).map { [$0] } ?? [] }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let room = LineSplitter.longest - partial.count
    if bytes.count > room { isTooLong = true }
    partial += bytes.prefix(room)
  }

  private mutating func line(endingWith bytes: ArraySlice<UInt8>) -> NumberedLine? {
    defer {
      partial.removeAll(keepingCapacity: true)
      isTooLong = false
    }
    number += 1
    let line: ListLine
    if partial.isEmpty, bytes.count <= LineSplitter.longest {
      line = ListLine(withoutByteOrderMark(bytes))
    } else {
      keep(bytes)
      line =
        isTooLong
        ? ListLine(
          tooLong: partial, reason: "it is longer than \(LineSplitter.longest / 1024) KiB; write one URL per line")
        : ListLine(withoutByteOrderMark(partial[...]))
    }
    return line == .nothing ? nil : NumberedLine(number: number, line: line)
  }

  private func withoutByteOrderMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    number == 1 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
  }
}
