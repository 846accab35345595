/// Reads the body of a request as it arrives, in either framing, and keeps it or lets it go.
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

  /// The longest body that is kept, and the longest line between chunks, in bytes.
  static let keptLimit = 64 << 20
  private static let lineLimit = 8 * 1024

  private var state: State
  private let keeps: Bool

  /// How many bytes of the body have come, what frames them left out.
  private(set) var count = 0

  /// What has been kept.
  private(set) var kept: [UInt8] = []

  /// A reader that stands before the body; `keeps` says whether somebody wants its bytes.
  init(_ framing: BodyFraming, keeps: Bool) {
    self.keeps = keeps
    state =
      switch framing {
      case .none, .length(0): .whole
      case .length(let count): .counted(count)
      case .chunked: .chunkSize
      }
  }

  /// Takes what belongs to the body from `bytes`, and moves `position` past it.
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
      // What follows the size is an extension, which nobody uses.
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
