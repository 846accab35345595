import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Reads rows as they are needed, on a thread of its own: what is in memory is the rows of one piece, and one that is
/// not whole.
final class RowReader: Sendable {
  private static let pieceSize = 64 * 1024
  private static let crew = LaneCrew(name: "headgate-rows", size: 1)

  private struct State {
    var cutter: any RowCutting
    var hasBegun = false
    var isAtEnd = false
  }

  /// What a list has next.
  enum Piece {
    case rows([RawRow])
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
  private let lane = SerialLane(on: RowReader.crew)
  private let state: Locked<State>

  /// Opens a list; `-` is the standard input.
  ///
  /// - Parameter isCSV: Whether it is CSV with a header line, whatever its name; else only one whose name ends in
  ///   `.csv`.
  init(_ path: String, standardInput: Int32, isCSV: Bool, stop: StopSignal) throws(SystemError) {
    isOwner = path != "-"
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? standardInput : try Descriptor.openForReading(path)
    state = Locked(State(cutter: isCSV || path.lowercased().hasSuffix(".csv") ? CSVCutter() : NDJSONCutter()))
    self.stop = stop
  }

  deinit { if isOwner { Descriptor.close(descriptor) } }

  /// Whether it reads the file of this path.
  func reads(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &other) == 0 && own.st_mode & S_IFMT == S_IFREG
      && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  /// The next rows, as many as one piece brings; the end also once the stop signal is raised.
  func next() async throws(SystemError) -> Piece {
    try await lane.perform { [self] () throws(SystemError) in
      if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return .end }
      return try readPiece()
    }
  }

  /// How many rows are left, for those who stop before the end; nil where only reading would tell and may take for
  /// ever, as from a pipe.
  ///
  /// - Parameter isWanted: Asked before each piece; false ends the counting, with nil.
  func countRest(while isWanted: @escaping @Sendable () -> Bool) async -> Int? {
    guard Descriptor.isRegularFile(descriptor) else { return state.withLock { $0.isAtEnd } ? 0 : nil }
    do throws(SystemError) {
      return try await lane.perform { [self] () throws(SystemError) in
        var count = 0
        while isWanted() {
          guard case .rows(let rows) = try readPiece() else { return count }
          count += rows.count
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
      guard piece.isEmpty else { return .rows(state.cutter.cut(piece)) }
      state.isAtEnd = true
      return .rows(state.cutter.finish())
    }
  }
}
