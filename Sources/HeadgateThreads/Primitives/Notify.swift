/// Notifies one of the threads and tasks that wait: tokio's `Notify`, a semaphore that holds at most one permit.
///
///     let changed = Notify()
///     …  // the side that changes the state
///     inbox.withLock { $0.append(message) }
///     changed.notifyOne()
///     …  // the side that waits for a change
///     while inbox.withLock({ $0.isEmpty }) { try await changed.wait() }
///
/// For one waiter at a time, or several that can each do the work. If they wait for different things, or all of them
/// for the same, use a ``Condition``: no notification would reach the right one, or all.
///
/// The state itself lives elsewhere, behind its own lock. A notification without a waiter is stored, so a waiter does
/// not miss a change between its check of the state and its wait. At most one notification is stored. All calls are
/// O(1).
public final class Notify: Sendable {
  struct State: WaitLine {
    var isNotified = false
    var waiters = WaitList()

    mutating func admit() -> [Waiter]? {
      // A stored notification implies that there are no waiters.
      guard isNotified else { return nil }
      isNotified = false
      return []
    }

    /// Returns the waiter to wake, if any.
    mutating func notifyOne() -> Waiter? {
      let waiter = waiters.claimFirst()
      if waiter == nil { isNotified = true }
      return waiter
    }
  }

  /// The name, as it appears in errors.
  public let name: String
  private let state = Locked(State())

  /// Creates an object without a stored notification.
  ///
  /// - Parameter name: The name that errors show.
  public init(name: String = "notify") { self.name = name }

  /// The number of waiters, at some moment during the call.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }

  /// Wakes the first waiter. Without a waiter, the next wait returns at once. Like `pthread_cond_signal`, but never
  /// lost.
  ///
  /// If the first waiter gives up at the same moment, because of its deadline or a cancellation, the next one gets the
  /// notification.
  public func notifyOne() {
    let waiter = state.withLock { $0.notifyOne() }
    waiter?.wake()
  }

  /// Blocks the thread until it is notified or the deadline passes. There are no spurious wake-ups, but the state may
  /// have changed again since the notification: check it in a loop.
  ///
  /// A stored notification is taken at once, whatever the deadline. Throws ``WaitError/Code/timedOut``;
  /// ``WaitError/Code/cancelled`` if the thread was cancelled while it waited; ``WaitError/Code/onCooperativeThread``
  /// if it would have to block a thread that must not block. A call that throws has not taken a notification.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func wait(until deadline: Deadline = .distantFuture) throws(WaitError) {
    try state.pass(operation, until: deadline)
  }

  /// Suspends the task until it is notified or the deadline passes.
  ///
  /// A stored notification is taken at once, whatever the deadline. Throws `CancellationError` if the task was
  /// cancelled while it waited, and ``WaitError`` with ``WaitError/Code/timedOut``. A call that throws has not taken a
  /// notification.
  nonisolated(nonsending) public func wait(until deadline: Deadline = .distantFuture) async throws {
    try await state.pass(operation, until: deadline)
  }

  private var operation: String { "wait for \"\(name)\"" }
}
