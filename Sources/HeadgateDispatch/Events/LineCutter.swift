/// Splits bytes that arrive in pieces into lines. A line ends with CR LF, LF or CR. A byte order mark before the first
/// line is removed.
///
/// Holds one piece and the beginning of one line. A line that ends with CR is returned at once; an LF at the start of
/// the next piece still belongs to it. O(1) for each byte.
struct LineCutter: BodyParser {
  private let maxLineBytes: Int
  private let tooLong: DispatchError.Code
  private var piece: ArraySlice<UInt8> = []
  private var partial: [UInt8] = []
  private var isAfterReturn = false
  private var isAtStart = true

  /// - Parameters:
  ///   - maxLineBytes: The maximum length of a line, without its terminator.
  ///   - tooLong: The error for a longer line.
  init(maxLineBytes: Int, tooLong: DispatchError.Code) {
    self.maxLineBytes = maxLineBytes
    self.tooLong = tooLong
  }

  /// Adds the next piece. Take out all complete lines first.
  mutating func add(_ bytes: [UInt8]) {
    if piece.isEmpty { piece = bytes[...] } else { piece += bytes }
  }

  /// The next line, without its terminator. Nil if more bytes are needed.
  ///
  /// - Throws: The error for a line that is too long. Don't call it again after that.
  mutating func next() throws(DispatchError) -> ArraySlice<UInt8>? {
    guard let first = piece.first else { return nil }
    if isAfterReturn, first == UInt8(ascii: "\n") { piece.removeFirst() }
    isAfterReturn = false
    guard let end = piece.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
      try check(piece.count)
      partial += piece
      piece = []
      return nil
    }
    let rest = piece[..<end]
    try check(rest.count)
    isAfterReturn = piece[end] == UInt8(ascii: "\r")
    piece = piece[(end + 1)...]
    return withoutMark(partial.isEmpty ? rest : takePartial() + rest)
  }

  /// The text after the last line terminator; nil if there is none. Call it when `next` has returned nil.
  mutating func finish() -> ArraySlice<UInt8>? {
    let rest = withoutMark(takePartial()[...])
    return rest.isEmpty ? nil : rest
  }

  private mutating func takePartial() -> [UInt8] {
    defer { partial = [] }
    return partial
  }

  private func check(_ more: Int) throws(DispatchError) {
    guard more <= maxLineBytes - partial.count else {
      throw DispatchError(tooLong, phase: .receiving, detail: "a line of more than \(maxLineBytes) bytes")
    }
  }

  private mutating func withoutMark(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    defer { isAtStart = false }
    return isAtStart && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
  }
}
