/// A reusable barrier at which a fixed number of threads and tasks wait for each other: Java's `CyclicBarrier`, C++'s
/// `std::barrier`, `pthread_barrier_t`.
///
///     let barrier = Barrier(parties: 4)
///     …  // in each of the four
///     for step in steps {
///       compute(step)
///       try barrier.wait()  // no party begins the next step before all have finished this one
///     }
///
/// A party that gives up, because of its deadline or a cancellation, is withdrawn as if it had never arrived. The
/// others keep waiting for it or for another in its place. A party that will not come again calls ``leave()``. A round
/// either completes and all its parties return, or it does not complete and none of them does.
///
/// Rejected: Java's broken barrier, where one party that gives up makes all others fail until the barrier is reset. In
/// a task group the others are cancelled anyway.
public final class Barrier: Sendable {
  struct State: WaitLine {
    var parties: Int
    var waiters = WaitList()

    mutating func admit() -> [Waiter]? { waiters.count + 1 < parties ? nil : waiters.claimAll() }

    mutating func withdraw(_ waiter: Waiter) -> Bool {
      // No longer in the list: the waiter was counted in a round that has completed.
      !waiters.remove(waiter)
    }

    mutating func leave() -> [Waiter] {
      parties = max(0, parties - 1)
      return waiters.count > 0 && waiters.count >= parties ? waiters.claimAll() : []
    }
  }

  /// The barrier's name, as it appears in errors.
  public let name: String
  private let state: Locked<State>

  /// Creates a barrier.
  ///
  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - parties: The number of parties that wait for each other. With 1 or less, no call waits.
  public init(name: String = "barrier", parties: Int) {
    self.name = name
    state = Locked(State(parties: max(0, parties)))
  }

  /// The number of parties that wait for each other.
  public var parties: Int { state.withLock { $0.parties } }

  /// The number of parties that are waiting, at some moment during the call.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }

  /// Reduces the number of parties by one for this and all later rounds. If all remaining parties are waiting, the
  /// round completes. Like `arrive_and_drop`.
  ///
  /// To be called for a party that is not waiting and will not come again. Never waits.
  public func leave() {
    for waiter in state.withLock({ $0.leave() }) { waiter.wake() }
  }

  /// Blocks the thread until all parties have arrived or the deadline passes.
  ///
  /// - Returns: Whether this party was the last to arrive. True for exactly one party of each round
  ///   (`PTHREAD_BARRIER_SERIAL_THREAD`), and for none if a ``leave()`` completed the round.
  ///
  /// Throws ``WaitError/Code/timedOut``; ``WaitError/Code/cancelled`` if the thread was cancelled while it waited;
  /// ``WaitError/Code/onCooperativeThread`` if it would have to block a thread that must not block. The party is then
  /// withdrawn. The last party to arrive never waits, so its call does not throw.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  @discardableResult
  public func wait(until deadline: Deadline = .distantFuture) throws(WaitError) -> Bool {
    try state.pass(operation, until: deadline)
  }

  /// Suspends the task until all parties have arrived or the deadline passes. Otherwise like the blocking form.
  ///
  /// Throws `CancellationError` if the task was cancelled while it waited, and ``WaitError`` with
  /// ``WaitError/Code/timedOut``. The party is then withdrawn.
  @discardableResult
  nonisolated(nonsending) public func wait(until deadline: Deadline = .distantFuture) async throws -> Bool {
    try await state.pass(operation, until: deadline)
  }

  private var operation: String { "wait at the barrier \"\(name)\"" }
}
