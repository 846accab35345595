import HeadgateDispatch
import HeadgateThreads

/// Writes bodies to standard output, one after another.
final class OutputWriter: Sendable {
  private enum Health { case well, broken, told }

  /// How many bodies may be in progress or wait for their turn. Each holds at most 256 KB in memory.
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
    let result = await withContinuation { continuation in
      lane.run {
        do throws(OutputError) {
          continuation.resume(returning: Result<Void, OutputError>.success(try body.empty()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    try result.get()
  }

  /// Whether a write has failed. Later writes are of no use.
  var isBroken: Bool { health.withLock { $0 != .well } }

  /// Returns true once after a write has failed, so that the failure is reported once.
  func takeBreak() -> Bool {
    health.withLock { health in
      guard health == .broken else { return false }
      health = .told
      return true
    }
  }

  /// Writes bytes. Blocks. Only for the body whose turn it is.
  func write(_ bytes: [UInt8]) throws(OutputError) {
    do throws(SystemError) { try Descriptor.write(bytes, to: descriptor) } catch {
      health.withLock { if $0 == .well { $0 = .broken } }
      throw OutputError(place: "standard output", reason: "\(error)", isShared: true)
    }
  }
}
