extension ThreadPool {
  /// How a pool ends.
  public struct Disposal: Hashable, Sendable {
    let isNow: Bool

    /// What was accepted runs first.
    public static let drain = Disposal(isNow: false)
    /// What has not started never will: its handles end with the code ``PoolTaskErrorCode/disposed``, closures of
    /// `execute` are let go. Tasks that run come to their end by themselves; their handles' `cancel` asks them to hurry.
    /// Pieces of Swift tasks go on elsewhere.
    public static let now = Disposal(isNow: true)
  }

  /// Ends the pool. Returns at once; see `waitUntilDisposed` for the end itself.
  ///
  /// From now on nothing more is accepted, also from the pool's own tasks; submitters that wait for room get the error
  /// ``ThreadPoolError/Code/disposed``. From any thread, one of its tasks included, any number of times: `now` after
  /// `drain` drops what has not started by then.
  public func dispose(_ disposal: Disposal = .drain) { core.dispose(now: disposal.isNow) }

  /// Whether the pool was disposed of; it may still have work.
  public var isDisposed: Bool { core.state.withLock { $0.isDisposed } }

  /// Blocks the calling thread until the pool was disposed of, its tasks have ended and its threads have made their last
  /// call.
  ///
  /// - Parameter deadline: When to give up; one that has passed only looks.
  /// - Throws: ``WaitError``: the deadline passed, the thread was cancelled or must not block, or it is one of the pool's.
  @available(*, noasync, message: "blocks the thread; await the async form")
  public func waitUntilDisposed(until deadline: Deadline = .distantFuture) throws(WaitError) {
    try core.blockUntilEnd(deadline)
  }

  /// Suspends the task until the pool was disposed of, its tasks have ended and its threads have made their last call.
  ///
  /// - Parameter deadline: When to give up.
  /// - Throws: ``WaitError``: the deadline passed, or the task was cancelled.
  public func waitUntilDisposed(until deadline: Deadline = .distantFuture) async throws(WaitError) {
    try await core.suspendUntilEnd(deadline)
  }
}
