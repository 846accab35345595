import CHeadgate
import Synchronization

/// One wait of a thread or a task. It ends exactly once: by a wake-up, by its deadline or by a cancellation.
///
/// The first change of `outcome` away from `pending` decides it (the claim). A waker that loses the claim wakes the
/// next waiter instead, so no wake-up is lost to a waiter that has just given up.
// Unchecked: the properties are constant or atomic.
@usableFromInline package final class Waiter: ListNode, @unchecked Sendable {
  /// How a wait ends.
  package enum Outcome: UInt8, Sendable {
    case pending, woken, timedOut, cancelled
  }

  private enum Sleeper {
    case thread(ThreadRecord)
    case task
    // Nobody sleeps.
    case action(@Sendable () -> Void)
  }

  /// A continuation and a token, which may come in either order.
  private enum Sleep {
    case awake
    case asleep(UnsafeContinuation<Void, Never>)
    case token
  }

  private let sleeper: Sleeper
  private let state = AtomicCell<UInt8>(Outcome.pending.rawValue)
  // A task's place to sleep.
  private let sleep = Locked(Sleep.awake)
  // For a stand-in in a second list: the waiter whose `state` decides.
  private let original: Waiter?

  private init(_ sleeper: Sleeper, for original: Waiter? = nil) {
    self.sleeper = sleeper
    self.original = original
  }

  /// Creates a waiter for the calling thread.
  package static func ofThread() -> Waiter { Waiter(.thread(.current)) }

  /// Creates a waiter for the current task.
  package static func ofTask() -> Waiter { Waiter(.task) }

  /// Creates a waiter that calls `action` in place of a wake-up, on the waking thread.
  static func calling(_ action: @escaping @Sendable () -> Void) -> Waiter { Waiter(.action(action)) }

  /// Creates a second waiter for the same wait, to stand in another list. The first claim on any of them ends the wait.
  package func standIn() -> Waiter { Waiter(sleeper, for: original ?? self) }

  /// Whether one claim ends both.
  func isSameWait(as other: Waiter) -> Bool { (original ?? self) === (other.original ?? other) }

  /// How the wait ended, or `pending`.
  package var outcome: Outcome {
    Outcome(rawValue: (original ?? self).state.load(ordering: .acquiring)) ?? .pending
  }

  /// Decides how the wait ends. Returns false if it was decided before. A successful claimant then calls `wake`,
  /// without a lock.
  package func claim(_ outcome: Outcome) -> Bool {
    (original ?? self).state.compareExchange(
      expected: Outcome.pending.rawValue, desired: outcome.rawValue, ordering: .acquiringAndReleasing
    )
    .exchanged
  }

  override func claim() -> Bool { claim(.woken) }

  /// Wakes the waiting thread or task. Call it after a successful `claim`.
  package func wake() {
    // The waiting side may be gone once it sees the outcome. The caller's reference keeps the waiter alive here.
    switch sleeper {
    case .thread(let record): record.waitParker.unpark()
    case .task: (original ?? self).resume()
    case .action(let action): action()
    }
  }

  /// Claims and wakes. Returns false if the wait was decided before.
  @discardableResult
  package func end(_ outcome: Outcome) -> Bool {
    guard claim(outcome) else { return false }
    wake()
    return true
  }

  /// Blocks the thread that created the waiter until the wait is decided. The outcome is `timedOut` if the deadline
  /// passes, and `cancelled` if the thread is cancelled and `cancellable` is true.
  package func wait(until deadline: Deadline, cancellable: Bool = true) -> Outcome {
    guard case .thread(let record) = sleeper else { return outcome }
    while true {
      let outcome = self.outcome
      if outcome != .pending { return outcome }
      if cancellable, record.isCancelled {
        _ = claim(.cancelled)
      } else if deadline <= .now {
        _ = claim(.timedOut)
      } else {
        // A token left over from an earlier wait ends this park early, hence the loop.
        record.park(until: deadline)
      }
    }
  }

  /// Suspends the task until the wait is decided. The outcome is `cancelled` if the task is cancelled.
  nonisolated(nonsending) package func wait(
    until deadline: Deadline, on timers: any TimerService = TimerThread.deadlines
  )
    async -> Outcome
  {
    guard case .task = sleeper else { return outcome }
    let timer = deadline == .distantFuture ? nil : timers.schedule(at: deadline) { [self] in end(.timedOut) }
    // A manual clock may have advanced past the deadline before the timer was set.
    if timer != nil, deadline <= timers.now { end(.timedOut) }
    await withCancellationHandler {
      await suspend()
    } onCancel: {
      end(.cancelled)
    }
    timer?.cancel()
    return outcome
  }

  /// Suspends the task until the wait is ended by a call, even if the task is cancelled.
  nonisolated(nonsending) package func waitForEnd() async -> Outcome {
    if case .task = sleeper { await suspend() }
    return outcome
  }

  private nonisolated(nonsending) func suspend() async {
    await withUnsafeContinuation { continuation in
      let hasToken = sleep.withLock { state in
        if case .token = state { return true }
        state = .asleep(continuation)
        return false
      }
      if hasToken { continuation.resume() }
    }
    // As in Continuation.swift. Here the task also reuses stack memory that `resume` has read.
    headgate_task_resumed()
  }

  private func resume() {
    let continuation = sleep.withLock { state -> UnsafeContinuation<Void, Never>? in
      defer { state = .token }
      if case .asleep(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}
