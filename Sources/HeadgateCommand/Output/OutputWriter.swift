import HeadgateThreads

/// The standard output: bodies one after another, written on a thread of its own.
final class OutputWriter: Sendable {
  private enum Health { case well, broken, told }

  /// How many bodies may be under way or waiting for their turn. Each holds 256 KB of memory at most.
  private static let window = 256

  let turns = Turns(window: OutputWriter.window)
  /// For files that bodies wait in, and how much they may take.
  let crew: LaneCrew
  let held: HeldSpace
  private let descriptor: Int32
  private let lane: SerialLane
  private let health = Locked(Health.well)

  init(_ descriptor: Int32, on crew: LaneCrew, held: HeldSpace) {
    self.descriptor = descriptor
    self.crew = crew
    self.held = held
    lane = SerialLane(on: crew)
  }

  /// Whether a write has failed: none that follows would be of use.
  var isBroken: Bool { health.withLock { $0 != .well } }

  /// Whether a write has failed and nobody has told yet: true once.
  func takeBreak() -> Bool {
    health.withLock { health in
      guard health == .broken else { return false }
      health = .told
      return true
    }
  }

  /// Suspends until the bytes are written. For the one whose turn it is.
  func write(_ bytes: [UInt8]) async throws(OutputError) {
    do throws(SystemError) {
      try await lane.perform { [descriptor] () throws(SystemError) in try Descriptor.write(bytes, to: descriptor) }
    } catch {
      health.withLock { if $0 == .well { $0 = .broken } }
      throw OutputError(place: "standard output", reason: "\(error)", isShared: true)
    }
  }
}
