import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Reads a list as it is needed, on a thread of its own: what is in memory is one piece of it, however long it is, and
/// a pipe's lines are there as soon as they are written.
final class ListReader: Sendable {
  private static let pieceSize = 64 * 1024
  private static let crew = LaneCrew(name: "headgate-list", size: 1)

  private struct State {
    var splitter = LineSplitter()
    var hasBegun = false
    var isAtEnd = false
  }

  /// What a list has next.
  enum Piece: Equatable {
    case lines([NumberedLine])
    /// Nothing more: its end, or the stop signal.
    case end
    /// It is no text.
    case compressed(Compression)
  }

  /// What the list is called in messages.
  let name: String
  private let descriptor: Int32
  private let isOwner: Bool
  private let stop: StopSignal
  private let lane = SerialLane(on: ListReader.crew)
  private let state = Locked(State())

  /// Opens a list; `-` is the standard input.
  init(_ path: String, standardInput: Int32 = 0, stop: StopSignal) throws(SystemError) {
    isOwner = path != "-"
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? standardInput : try Descriptor.openForReading(path)
    self.stop = stop
  }

  deinit { if isOwner { Descriptor.close(descriptor) } }

  /// The next lines, as many as one piece holds; the end also once the stop signal is raised.
  func next() async throws(SystemError) -> Piece {
    try await lane.perform { [self] () throws(SystemError) in
      if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return .end }
      return try readPiece()
    }
  }

  /// How many URLs and bad lines are left, for those who stop before the end; nil where only reading would tell and
  /// may take for ever, as from a pipe.
  ///
  /// - Parameter isWanted: Asked before each piece; false ends the counting, with nil.
  func countRest(while isWanted: @escaping @Sendable () -> Bool) async -> Int? {
    guard Descriptor.isRegularFile(descriptor) else { return state.withLock { $0.isAtEnd } ? 0 : nil }
    do throws(SystemError) {
      return try await lane.perform { [self] () throws(SystemError) in
        var count = 0
        while isWanted() {
          guard case .lines(let lines) = try readPiece() else { return count }
          count += lines.count
        }
        return nil
      }
    } catch {
      return nil
    }
  }

  private func readPiece() throws(SystemError) -> Piece {
    if state.withLock({ $0.isAtEnd }) { return .end }
    let piece = try Descriptor.read(descriptor, atMost: Self.pieceSize)
    return state.withLock { state in
      if !state.hasBegun, let compression = Compression(startingWith: piece) {
        state.isAtEnd = true
        return .compressed(compression)
      }
      state.hasBegun = true
      guard piece.isEmpty else { return .lines(state.splitter.split(piece[...])) }
      state.isAtEnd = true
      return .lines(state.splitter.finish().map { [$0] } ?? [])
    }
  }
}
