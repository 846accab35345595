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
    var isAtEnd = false
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

  /// The next lines, as many as one piece holds; nil at the end of the list or once the stop signal is raised.
  func next() async throws(SystemError) -> [NumberedLine]? {
    try await lane.perform { [self] () throws(SystemError) in try readPiece() }
  }

  private func readPiece() throws(SystemError) -> [NumberedLine]? {
    if state.withLock({ $0.isAtEnd }) { return nil }
    if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return nil }
    let piece = try Descriptor.read(descriptor, atMost: Self.pieceSize)
    return state.withLock { state in
      guard piece.isEmpty else { return state.splitter.split(piece[...]) }
      state.isAtEnd = true
      return state.splitter.finish().map { [$0] } ?? []
    }
  }
}
