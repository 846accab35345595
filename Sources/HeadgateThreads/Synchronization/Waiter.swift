import CHeadgate
import Synchronization

/// One wait, of a thread or of a task: it ends once, by a wake-up, by its deadline or by a cancellation.
///
/// Whoever moves `outcome` away from `pending` has decided it. Who wakes another and finds it decided already wakes the
/// next one instead, so that no wake-up is lost to a waiter that has just given up.
// Unchecked: the links belong to the WaitList that holds the waiter, under the lock of that list's owner; the rest is
// constant or atomic.
package final class Waiter: @unchecked Sendable {
  /// How a wait ends.
  package enum Outcome: UInt8, Sendable {
    case pending, woken, timedOut, cancelled
  }

  private enum Sleeper {
    case thread(ThreadRecord)
    case task(SuspendedTask)
  }

  private let sleeper: Sleeper
  private let state = AtomicCell<UInt8>(Outcome.pending.rawValue)
  // Whose `state` decides, for one that stands for another in a second list.
  private let original: Waiter?

  fileprivate var next: Waiter?
  fileprivate unowned(unsafe) var previous: Waiter?
  fileprivate var isListed = false

  private init(_ sleeper: Sleeper, for original: Waiter? = nil) {
    self.sleeper = sleeper
    self.original = original
  }

  /// A wait of the calling thread.
  package static func ofThread() -> Waiter { Waiter(.thread(.current)) }

  /// A wait of the current task.
  package static func ofTask() -> Waiter { Waiter(.task(SuspendedTask())) }

  /// The same wait, to stand in one list more: whichever is claimed first ends it for all of them.
  package func standIn() -> Waiter { Waiter(sleeper, for: original ?? self) }

  /// How it ended, or `pending`.
  package var outcome: Outcome {
    Outcome(rawValue: (original ?? self).state.load(ordering: .acquiring)) ?? .pending
  }

  /// Decides how it ends. False: that was decided before. The winner calls `wake`, with no lock held.
  package func claim(_ outcome: Outcome) -> Bool {
    (original ?? self).state.compareExchange(
      expected: Outcome.pending.rawValue, desired: outcome.rawValue, ordering: .acquiringAndReleasing
    )
    .exchanged
  }

  /// Wakes who waits. After a `claim` that was won.
  package func wake() {
    // The sleeper may be gone as soon as it sees the outcome; the caller's reference to the waiter keeps both alive here.
    switch sleeper {
    case .thread(let record): record.waitParker.unpark()
    case .task(let task): task.resume()
    }
  }

  /// Claims and wakes. False: it was decided before.
  @discardableResult
  package func end(_ outcome: Outcome) -> Bool {
    guard claim(outcome) else { return false }
    wake()
    return true
  }

  /// Blocks the thread that the waiter was made on until it is decided. The outcome `timedOut` comes when the deadline
  /// has passed, `cancelled` when the thread was cancelled (unless that is to be ignored).
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
        // A token that is left of an earlier wait ends this park early: we look again.
        _ = record.waitParker.park(until: deadline)
      }
    }
  }

  /// Suspends the task until the waiter is decided. `cancelled` comes when the task is cancelled.
  nonisolated(nonsending) package func wait(until deadline: Deadline, on timers: any TimerService = TimerThread.shared)
    async -> Outcome
  {
    guard case .task(let task) = sleeper else { return outcome }
    let timer = deadline == .distantFuture ? nil : timers.schedule(at: deadline) { [self] in end(.timedOut) }
    // A clock that only moves when it is told to may have moved on before the timer was set.
    if timer != nil, deadline <= timers.now { end(.timedOut) }
    await withTaskCancellationHandler {
      await task.suspend()
    } onCancel: {
      end(.cancelled)
    }
    timer?.cancel()
    return outcome
  }

  /// Suspends the task until somebody ends the waiter, whether the task is cancelled or not.
  nonisolated(nonsending) package func waitForEnd() async -> Outcome {
    if case .task(let task) = sleeper { await task.suspend() }
    return outcome
  }
}

/// Where a task sleeps: a continuation and a token, in either order.
private final class SuspendedTask: Sendable {
  private enum State {
    case awake
    case asleep(UnsafeContinuation<Void, Never>)
    case token
  }

  private let state = Locked(State.awake)

  nonisolated(nonsending) func suspend() async {
    await withUnsafeContinuation { continuation in
      let hasToken = state.withLock { state in
        if case .token = state { return true }
        state = .asleep(continuation)
        return false
      }
      if hasToken { continuation.resume() }
    }
    // As in Continuation.swift; here the stack that `resume` has read is to be written again, too.
    headgate_task_resumed()
  }

  func resume() {
    let continuation = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      defer { state = .token }
      if case .asleep(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}

/// Those who wait for one thing, in the order in which they came. Every call is O(1) and made under the owner's lock.
package struct WaitList {
  private var first: Waiter?
  private unowned(unsafe) var last: Waiter?
  /// How many wait.
  package private(set) var count = 0

  package init() {}

  /// Whether nobody waits.
  package var isEmpty: Bool { first == nil }

  /// Adds one at the end.
  package mutating func append(_ waiter: Waiter) {
    waiter.isListed = true
    waiter.previous = last
    if let last { last.next = waiter } else { first = waiter }
    last = waiter
    count += 1
  }

  /// Adds one before all others: one that was woken, was overtaken, and keeps its place.
  package mutating func prepend(_ waiter: Waiter) {
    waiter.isListed = true
    waiter.next = first
    first?.previous = waiter
    if first == nil { last = waiter }
    first = waiter
    count += 1
  }

  /// Takes one out, wherever it stands. False: it is not there (any more).
  @discardableResult
  package mutating func remove(_ waiter: Waiter) -> Bool {
    guard waiter.isListed else { return false }
    waiter.isListed = false
    let next = waiter.next.take()
    next?.previous = waiter.previous
    if last === waiter { last = waiter.previous }
    if let previous = waiter.previous { previous.next = next } else { first = next }
    waiter.previous = nil
    count -= 1
    return true
  }

  /// Takes out and claims the first that is still undecided; the caller wakes it once the lock is free.
  package mutating func claimFirst() -> Waiter? {
    while let waiter = first {
      remove(waiter)
      if waiter.claim(.woken) { return waiter }
    }
    return nil
  }
}
