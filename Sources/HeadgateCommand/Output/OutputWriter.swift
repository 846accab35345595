import HeadgateDispatch
import HeadgateThreads

/// Writes bodies to standard output, one after another.
final class OutputWriter: Sendable {
  private enum Health {
    case well, told
    case broken(OutputError)
  }

  /// How many bodies may be in progress or wait for their turn. Each has about a megabyte in memory at most.
  private static let window = 256

  let turns = Turns(window: OutputWriter.window)
  /// The space for temporary files of waiting bodies.
  let held: HeldSpace
  private let descriptor: Int32
  private let lane: SerialLane
  private let health = Locked(Health.well)

  init(_ descriptor: Int32, on crew: LaneCrew, held: HeldSpace) {
    self.descriptor = descriptor
    self.held = held
    lane = SerialLane(on: crew)
  }

  /// Writes what is held of the body whose turn it is, on a thread of its own.
  func empty(_ body: OutputBody) async throws(OutputError) {
    try await lane.perform { () throws(OutputError) in try body.empty() }
  }

  /// Whether a write has failed. Later writes are of no use.
  var isBroken: Bool { health.withLock { if case .well = $0 { false } else { true } } }

  /// The failure of a write, once, so that it is reported once.
  func takeFailure() -> OutputError? {
    health.withLock { health in
      guard case .broken(let failure) = health else { return nil }
      health = .told
      return failure
    }
  }

  /// Writes bytes. Blocks. Only for the body whose turn it is.
  func write(_ bytes: [UInt8]) throws(OutputError) {
    do throws(SystemError) { try Descriptor.write(bytes, to: descriptor) } catch {
      let failure = OutputError(place: "standard output", reason: "\(error)", isShared: true)
      health.withLock { if case .well = $0 { $0 = .broken(failure) } }
      throw failure
    }
  }
}
