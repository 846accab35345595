/// A line of text without its line feed.
enum RawLine {
  case whole(ArraySlice<UInt8>)
  /// Its beginning.
  case tooLong([UInt8])
}

/// Cuts text that arrives in pieces into lines. Holds no more than one line, and at most ``longest`` bytes of it.
struct RawLines: Sendable {
  static let longest = 64 * 1024

  private var partial: [UInt8] = []
  private var isTooLong = false
  /// The number of complete lines.
  private(set) var number = 0

  /// Calls `body` with the number and text of each line that ends in this piece.
  mutating func cut(_ piece: [UInt8], _ body: (Int, RawLine) -> Void) {
    var rest = piece[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      finish(rest[..<end], body)
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  /// Calls `body` with the last line, which is empty if the text ends with a line feed.
  mutating func finish(_ body: (Int, RawLine) -> Void) { finish([], body) }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let room = RawLines.longest - partial.count
    if bytes.count > room { isTooLong = true }
    partial += bytes.prefix(room)
  }

  private mutating func finish(_ bytes: ArraySlice<UInt8>, _ body: (Int, RawLine) -> Void) {
    defer {
      partial.removeAll(keepingCapacity: true)
      isTooLong = false
    }
    number += 1
    if partial.isEmpty, bytes.count <= RawLines.longest { return body(number, .whole(withoutByteOrderMark(bytes))) }
    keep(bytes)
    body(number, isTooLong ? .tooLong(partial) : .whole(withoutByteOrderMark(partial[...])))
  }

  private func withoutByteOrderMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    number == 1 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
  }
}
