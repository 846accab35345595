import HeadgateThreads
import Synchronization

/// What becomes of functions that still run when the result is decided. They are cancelled in any case.
public struct Losers: Hashable, Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String

  private init(_ name: String) { description = name }

  /// The result is given when all of them have ended: nothing that was started outlives the call.
  public static let join = Losers("join")

  /// The result is given at once. What ignores its cancellation goes on with nobody waiting, and is counted in
  /// ``abandonedCount`` until it ends; what it then succeeds with goes to `discard`.
  public static let abandon = Losers("abandon")

  /// How many functions run in the process at this moment with nobody waiting for them: given up by
  /// ``abandon``, by a deadline, by a cancelled wait, or by an iterator that was let go of.
  public static var abandonedCount: Int { AbandonedCount.process.value }
}

/// Counts what still runs with nobody waiting.
final class AbandonedCount: Sendable {
  static let process = AbandonedCount()

  private let count = AtomicCell<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func begin() { count.wrappingAdd(1, ordering: .relaxed) }

  func end() { count.wrappingSubtract(1, ordering: .relaxed) }
}
