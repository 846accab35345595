/// A line of a list with its number.
struct NumberedLine: Equatable, Sendable {
  let number: Int
  let line: ListLine
}

/// Cuts text that arrives in pieces into items, one for each line, or none.
struct LineCutter<Item: Sendable>: InputCutter {
  private var raw = RawLines()
  private let read: @Sendable (_ number: Int, _ line: RawLine) -> Item?

  init(_ read: @escaping @Sendable (_ number: Int, _ line: RawLine) -> Item?) { self.read = read }

  var lines: Int { raw.number }

  mutating func cut(_ piece: [UInt8]) -> [Item] {
    let read = read
    var items: [Item] = []
    raw.cut(piece) { number, line in if let item = read(number, line) { items.append(item) } }
    return items
  }

  mutating func finish() -> [Item] {
    let read = read
    var items: [Item] = []
    raw.finish { number, line in if let item = read(number, line) { items.append(item) } }
    return items
  }
}

/// Cuts a list with one URL per line into lines, without blank lines and comments.
typealias LineSplitter = LineCutter<NumberedLine>

extension LineSplitter {
  init() {
    self.init { number, line in
      let line = ListLine(line)
      return line == .nothing ? nil : NumberedLine(number: number, line: line)
    }
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
