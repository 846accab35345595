/// A count that goes down to zero once and then releases all waiters: Java's `CountDownLatch`, C++'s `std::latch`, a
/// `DispatchGroup` that is used once.
///
///     let ready = Latch(count: workers.count)
///     …  // in each worker, once it is ready
///     ready.countDown()
///     …
///     try await ready.wait()
///
/// An open latch never closes. All calls are O(1), except the one that opens the latch, which wakes all waiters.
public final class Latch: Sendable {
  struct State: WaitLine {
    var count: Int
    var waiters = WaitList()

    mutating func admit() -> [Waiter]? { count > 0 ? nil : [] }

    /// Counts down and returns the waiters to wake.
    mutating func countDown(_ number: Int) -> [Waiter] {
      count -= min(max(0, number), count)
      return count == 0 ? waiters.claimAll() : []
    }
  }

  /// The latch's name, as it appears in errors.
  public let name: String
  private let state: Locked<State>

  /// Creates a latch.
  ///
  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - count: How often it must be counted down. With zero or less, the latch is open from the start.
  public init(name: String = "latch", count: Int = 1) {
    self.name = name
    state = Locked(State(count: max(0, count)))
  }

  /// The remaining count, at some moment during the call.
  public var count: Int { state.withLock { $0.count } }

  /// Whether the latch is open.
  public var isOpen: Bool { count == 0 }

  /// Counts down, but not below zero. Zero opens the latch. A number of zero or less has no effect.
  ///
  /// Never waits. Can be called from any thread or task. Everything done before the call is visible to the waiters that
  /// it releases.
  public func countDown(by number: Int = 1) {
    for waiter in state.withLock({ $0.countDown(number) }) { waiter.wake() }
  }

  /// Blocks the thread until the latch is open or the deadline passes. Like `CountDownLatch.await`.
  ///
  /// Returns at once if the latch is open, whatever the deadline. Throws ``WaitError/Code/timedOut``;
  /// ``WaitError/Code/cancelled`` if the thread was cancelled while it waited; ``WaitError/Code/onCooperativeThread``
  /// if it would have to block a thread that must not block.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func wait(until deadline: Deadline = .distantFuture) throws(WaitError) {
    try state.pass(operation, until: deadline)
  }

  /// Suspends the task until the latch is open or the deadline passes.
  ///
  /// Returns at once if the latch is open, whatever the deadline. Throws `CancellationError` if the task was cancelled
  /// while it waited, and ``WaitError`` with ``WaitError/Code/timedOut``.
  nonisolated(nonsending) public func wait(until deadline: Deadline = .distantFuture) async throws {
    try await state.pass(operation, until: deadline)
  }

  private var operation: String { "wait for the latch \"\(name)\"" }
}
