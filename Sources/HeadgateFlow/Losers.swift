import HeadgateThreads
import Synchronization

/// What happens to functions that are still running when the result is decided. They are cancelled in either case.
@nonexhaustive
public enum Losers: Sendable {
  /// The result is returned after all of them have ended: nothing that was started outlives the call.
  case join

  /// The result is returned at once. A function that ignores its cancellation continues unobserved, and counts in
  /// ``abandonedCount`` until it ends. If it then succeeds, its value is passed to `discard`.
  case abandon

  /// The number of functions in the process that are running without a caller that waits for them: abandoned by
  /// ``abandon``, by a deadline, by a cancelled wait, or by an iterator that was released.
  public static var abandonedCount: Int { AbandonedCount.process.value }
}

/// Counts the functions that are still running after their callers have returned.
final class AbandonedCount: Sendable {
  static let process = AbandonedCount()

  private let count = AtomicCell<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func begin() { count.wrappingAdd(1, ordering: .relaxed) }

  func end() { count.wrappingSubtract(1, ordering: .relaxed) }
}

/// Makes an async function end at once when its task is cancelled: the function runs in a separate task, which is then
/// cancelled and abandoned.
func abandonable<Input: Sendable, Success: Sendable>(
  _ discard: (@Sendable (Success) -> Void)?, _ function: @escaping @Sendable (Input) async throws -> Success
) -> @Sendable (Input) async throws -> Success {
  { input in try await awaitCallback(discard: discard, callbackFunction { try await function(input) }) }
}
