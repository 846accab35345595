import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Cuts input that comes in pieces into items: lines of a list, or rows.
protocol InputCutter<Item>: Sendable {
  associatedtype Item: Sendable

  /// The items that end in this piece.
  mutating func cut(_ piece: [UInt8]) -> [Item]
  /// The last item, if the input does not end with a line feed.
  mutating func finish() -> [Item]
}

/// Reads input as it is needed, on a thread of its own. In memory are the items of one piece, and one that is not
/// whole; those of a pipe are there as soon as they are written.
final class InputReader<Item: Sendable>: Sendable {
  private struct State {
    var cutter: any InputCutter<Item>
    var hasBegun = false
    var isAtEnd = false
  }

  /// What comes next.
  enum Piece {
    case items([Item])
    /// Nothing more: its end, or the stop signal.
    case end
    /// It is no text.
    case compressed(Compression)
  }

  /// What the input is called in messages.
  let name: String
  private let descriptor: Int32
  private let isOwner: Bool
  let stop: StopSignal
  private let lane = SerialLane(on: InputThread.crew)
  private let state: Locked<State>

  /// Opens a file; `-` is the standard input.
  init(
    _ path: String, standardInput: Int32 = 0, cutter: any InputCutter<Item>, stop: StopSignal
  ) throws(SystemError) {
    isOwner = path != "-"
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? standardInput : try Descriptor.openForReading(path)
    state = Locked(State(cutter: cutter))
    self.stop = stop
  }

  deinit { if isOwner { Descriptor.close(descriptor) } }

  /// Whether it reads the file of this path.
  func reads(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &other) == 0 && own.st_mode & S_IFMT == S_IFREG
      && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  /// The next items, as many as one piece brings; the end also once the stop signal is raised.
  func next() async throws(SystemError) -> Piece {
    try await lane.perform { [self] () throws(SystemError) in
      if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return .end }
      return try readPiece()
    }
  }

  /// The number of items that are left, when a run stops before the end; nil where only reading would tell and may
  /// never end, as from a pipe.
  ///
  /// - Parameter isWanted: Asked before each piece; false ends the counting, with nil.
  func countRest(while isWanted: @escaping @Sendable () -> Bool) async -> Int? {
    guard Descriptor.isRegularFile(descriptor) else { return state.withLock { $0.isAtEnd } ? 0 : nil }
    do throws(SystemError) {
      return try await lane.perform { [self] () throws(SystemError) in
        var count = 0
        while isWanted() {
          guard case .items(let items) = try readPiece() else { return count }
          count += items.count
        }
        return nil
      }
    } catch {
      return nil
    }
  }

  private func readPiece() throws(SystemError) -> Piece {
    if state.withLock({ $0.isAtEnd }) { return .end }
    let piece = try Descriptor.read(descriptor, atMost: InputThread.pieceSize)
    return state.withLock { state in
      if !state.hasBegun, let compression = Compression(startingWith: piece) {
        state.isAtEnd = true
        return .compressed(compression)
      }
      state.hasBegun = true
      guard piece.isEmpty else { return .items(state.cutter.cut(piece)) }
      state.isAtEnd = true
      return .items(state.cutter.finish())
    }
  }
}

/// The thread that all readers share.
private enum InputThread {
  static let pieceSize = 64 * 1024
  static let crew = LaneCrew(name: "headgate-input", size: 1)
}
