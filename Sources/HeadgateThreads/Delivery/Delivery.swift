import Dispatch

/// Where a call is made: a timer's call, the completion of a callback function, calls to a delegate.
///
///     try timers.perform(after: .seconds(1), on: .pool(pool)) { clean() }
///     startTask(on: .mainActor, logIn) { result in … }
///     try dispatcher.dispatchShort(url, delegate: self, on: .loop(loop))
///
/// A call is never lost silently. If the target refuses it (a loop has stopped, a pool is full or disposed of, a
/// closure is released without a call), the refusal is reported, as documented by the API that makes the call.
@nonexhaustive
public enum Delivery: Sendable {
  /// On the thread that triggers the call, without a hop: the timer thread, the transport's thread, or the thread that
  /// completes the work. For short calls that do not block: all other work of that thread waits for them.
  case inline

  /// On the main actor, in FIFO order. `MainActor.assumeIsolated` works there.
  case mainActor

  /// On a loop's thread, in FIFO order with the closures of its `perform`.
  case loop(ThreadLoop)

  /// On a thread of a pool. The priority is the order in which the call starts, relative to other tasks of the pool. A
  /// full pool refuses the call: it never waits for room. With ``FullQueuePolicy/callerRuns`` the triggering thread is
  /// the submitter, so a full pool's calls run there.
  case pool(ThreadPool, priority: PoolPriority = .normal)

  /// On a dispatch queue, serial or concurrent.
  case queue(DispatchQueue)

  /// In a new task on a task executor.
  case executor(any TaskExecutor)

  /// Through any function that takes a closure and calls it later.
  ///
  /// The function is called on the thread that triggers the call; it must not wait. If it throws, or drops the closure
  /// without calling it, the call counts as refused.
  case submitting(@Sendable (@escaping @Sendable () -> Void) throws -> Void)

  /// Delivers a parcel at the place. Called without a lock.
  package func submit(_ parcel: Parcel) {
    do {
      switch self {
      case .inline: parcel.open()
      case .mainActor: Task { @MainActor in parcel.open() }
      case .loop(let loop):
        guard loop.core.accept(.entry(parcel)) else { throw LoopError(.stopped, loop: loop.name) }
      // A deadline in the past: a full pool with a blocking policy refuses instead of waiting.
      case .pool(let pool, let priority):
        try pool.execute(priority: priority, until: .distantPast) { parcel.open() }
      case .queue(let queue): queue.async { parcel.open() }
      case .executor(let executor): Task(executorPreference: executor) { parcel.open() }
      case .submitting(let submit): try submit { parcel.open() }
      }
    } catch {
      parcel.comeBack(for: error)
    }
  }

  /// Whether the place cannot make progress while a thread with these duties is blocked.
  ///
  /// For dispatch queues this is known only for the main queue: libdispatch does not reveal which thread serves which
  /// queue.
  package func needs(_ duties: ThreadDuties) -> Bool {
    switch self {
    case .inline, .executor, .submitting: return false
    case .mainActor: return duties.isMain
    case .loop(let loop): return duties.include(loop)
    case .pool(let pool, _): return duties.include(pool)
    // Compared by label: on Linux each access to the main queue returns a different object.
    case .queue(let queue): return duties.isMain && queue.label == DispatchQueue.main.label
    }
  }
}

/// A unit of delivery. Exactly one of its two closures is called, once, even if its carrier drops it.
package final class Parcel: LoopEntry {
  private struct Content: Sendable {
    let deliver: @Sendable () -> Void
    let comeBack: @Sendable ((any Error)?) -> Void
  }

  private let content: Locked<Content?>

  /// - Parameters:
  ///   - deliver: Called at the place of delivery.
  ///   - comeBack: Called instead, with the place's error if there is one, on the thread that detects the failure. For
  ///     a dropped parcel that can be any thread.
  package init(_ deliver: @escaping @Sendable () -> Void, comeBack: @escaping @Sendable ((any Error)?) -> Void) {
    content = Locked(Content(deliver: deliver, comeBack: comeBack))
  }

  deinit { comeBack() }

  private func take() -> Content? { content.withLock { $0.take() } }

  func open() { take()?.deliver() }

  func comeBack(for error: (any Error)? = nil) { take()?.comeBack(error) }

  // MARK: In a loop's inbox

  func perform(on core: LoopCore) { open() }

  func drop() { comeBack() }
}
