/// A number of permits that threads and tasks take and give back in FIFO order: `DispatchSemaphore`, POSIX's `sem_t`,
/// Java's fair `Semaphore`. Threads and tasks wait in the same queue.
///
///     let parsers = Semaphore(permits: 4)
///     let tree = try await parsers.withPermit { try await parse(file) }   // in a task
///     let tree = try parsers.withPermit { try parse(file) }               // on a thread
///
/// A released permit goes to the first waiter. No caller overtakes: ``tryWait()`` also fails while others wait. A
/// permit has no owner: any thread or task may release it, and releasing more permits than were taken adds permits. All
/// calls are O(1).
public final class Semaphore: Sendable {
  struct State: WaitLine {
    var permits: Int
    var waiters = WaitList()

    mutating func admit() -> [Waiter]? {
      // A free permit implies that there are no waiters, since waiters are served first.
      guard permits > 0 else { return nil }
      permits -= 1
      return []
    }

    /// Adds permits and hands them to waiters. Returns the waiters to wake.
    mutating func add(_ count: Int) -> [Waiter] {
      let (sum, overflow) = permits.addingReportingOverflow(max(0, count))
      permits = overflow ? .max : sum
      var woken: [Waiter] = []
      while permits > 0, let waiter = waiters.claimFirst() {
        permits -= 1
        woken.append(waiter)
      }
      return woken
    }
  }

  /// The semaphore's name, as it appears in errors.
  public let name: String
  private let state: Locked<State>

  /// Creates a semaphore.
  ///
  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - permits: The initial number of permits. If it is negative, that many must be added before the first waiter
  ///     gets one.
  public init(name: String = "semaphore", permits: Int) {
    self.name = name
    state = Locked(State(permits: permits))
  }

  /// The number of free permits, at some moment during the call; negative if it began negative and too few have been
  /// added since.
  public var freePermits: Int { state.withLock { $0.permits } }

  /// The number of waiters, at some moment during the call.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }

  /// Releases or adds permits; the first waiters get them. A count of zero or less adds none. Like `sem_post` and
  /// `release`.
  ///
  /// Never waits. Can be called from any thread or task.
  public func signal(_ count: Int = 1) {
    for waiter in state.withLock({ $0.add(count) }) { waiter.wake() }
  }

  /// Takes a permit if one is free. Like `sem_trywait` and `tryAcquire`.
  public func tryWait() -> Bool { state.tryPass() }

  /// Takes a permit; blocks the thread until there is one or the deadline passes. Like `sem_wait` and `acquire`.
  ///
  /// A free permit is taken whatever the deadline, even by a cancelled thread. Throws ``WaitError/Code/timedOut``;
  /// ``WaitError/Code/cancelled`` if the thread was cancelled while it waited; ``WaitError/Code/onCooperativeThread``
  /// if it would have to block a thread that must not block. A call that throws has not taken a permit.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func wait(until deadline: Deadline = .distantFuture) throws(WaitError) {
    try state.pass(operation, until: deadline)
  }

  /// Takes a permit; suspends the task until there is one or the deadline passes.
  ///
  /// Throws `CancellationError` if the task was cancelled while it waited, and ``WaitError`` with
  /// ``WaitError/Code/timedOut``. A free permit is taken whatever the deadline, even by a cancelled task. A call that
  /// throws has not taken a permit.
  nonisolated(nonsending) public func wait(until deadline: Deadline = .distantFuture) async throws {
    try await state.pass(operation, until: deadline)
  }

  /// Runs `body` with a permit, and releases the permit when `body` returns or throws. Blocks the thread like
  /// `wait(until:)`.
  ///
  /// Throws what `wait(until:)` throws, without calling `body`, or what `body` throws.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func withPermit<Value: ~Copyable>(
    until deadline: Deadline = .distantFuture, _ body: () throws -> Value
  ) throws -> Value {
    try wait(until: deadline)
    defer { signal() }
    return try body()
  }

  /// Runs `body` with a permit, and releases the permit when `body` returns or throws. Suspends the task like
  /// `wait(until:)`.
  ///
  /// Throws what `wait(until:)` throws, without calling `body`, or what `body` throws.
  nonisolated(nonsending) public func withPermit<Value: ~Copyable>(
    until deadline: Deadline = .distantFuture, _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await wait(until: deadline)
    defer { signal() }
    return try await body()
  }

  /// Runs a synchronous `body` with a permit; otherwise like the form above. Without this overload the compiler would
  /// choose the one that blocks.
  nonisolated(nonsending) public func withPermit<Value: ~Copyable>(
    until deadline: Deadline = .distantFuture, _ body: () throws -> Value
  ) async throws -> Value {
    try await wait(until: deadline)
    defer { signal() }
    return try body()
  }

  private var operation: String { "wait for a permit of \"\(name)\"" }
}
