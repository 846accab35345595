/// Reads the body of a request as it arrives, chunked or not, and stores or discards it.
struct BodyReader {
  enum Progress { case more, whole, malformed }

  private enum State {
    case counted(Int)
    case chunkSize
    case chunkData(Int)
    case chunkEnd
    case trailer
    case whole
  }

  /// The maximum size of a stored body, and of a line between chunks, in bytes.
  static let keptLimit = 64 << 20
  private static let lineLimit = 8 * 1024

  private var state: State
  private let keeps: Bool

  /// The number of body bytes received, without the framing.
  private(set) var count = 0

  /// The stored bytes.
  private(set) var kept: [UInt8] = []

  /// Creates a reader at the start of a body; `keeps` says whether to store its bytes.
  init(_ framing: BodyFraming, keeps: Bool) {
    self.keeps = keeps
    state =
      switch framing {
      case .none, .length(0): .whole
      case .length(let count): .counted(count)
      case .chunked: .chunkSize
      }
  }

  /// Consumes the part of `bytes` that belongs to the body, and moves `position` past it.
  mutating func read(_ bytes: [UInt8], _ position: inout Int) -> Progress {
    while true {
      switch state {
      case .whole:
        return .whole
      case .counted(let left):
        guard position < bytes.count else { return .more }
        let count = min(left, bytes.count - position)
        guard take(bytes, &position, count) else { return .malformed }
        state = left == count ? .whole : .counted(left - count)
      case .chunkData(let left):
        guard position < bytes.count else { return .more }
        let count = min(left, bytes.count - position)
        guard take(bytes, &position, count) else { return .malformed }
        state = left == count ? .chunkEnd : .chunkData(left - count)
      case .chunkSize, .chunkEnd, .trailer:
        guard let lineFeed = bytes[position...].firstIndex(of: .lineFeed) else {
          return bytes.count - position > Self.lineLimit ? .malformed : .more
        }
        var line = bytes[position..<lineFeed]
        if line.last == .carriageReturn { line.removeLast() }
        position = lineFeed + 1
        guard let next = state(after: line) else { return .malformed }
        state = next
      }
    }
  }

  private func state(after line: ArraySlice<UInt8>) -> State? {
    switch state {
    case .chunkEnd:
      return line.isEmpty ? .chunkSize : nil
    case .trailer:
      return line.isEmpty ? .whole : .trailer
    default:
      // Chunk extensions after the size are ignored.
      let digits = line.prefix { $0.hexadecimalValue != nil }
      let rest = line.dropFirst(digits.count).first
      guard !digits.isEmpty, digits.count <= 15, rest == nil || rest == UInt8(ascii: ";") || rest == .space
      else { return nil }
      let size = digits.reduce(0) { $0 << 4 | Int($1.hexadecimalValue ?? 0) }
      return size == 0 ? .trailer : .chunkData(size)
    }
  }

  private mutating func take(_ bytes: [UInt8], _ position: inout Int, _ count: Int) -> Bool {
    if keeps {
      guard kept.count + count <= Self.keptLimit else { return false }
      kept.append(contentsOf: bytes[position..<position + count])
    }
    position += count
    self.count += count
    return true
  }
}
