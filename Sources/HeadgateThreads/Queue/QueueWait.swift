import Synchronization

/// One side of a queue, where callers wait in line until they can try again.
protocol QueueLine {
  /// The queue's name, for the log.
  var name: String { get }

  /// The clock of its deadlines.
  var timers: any TimerService { get }

  /// Adds the queue to dumps, unless it was added before.
  func enterDumps()

  /// Spins for a few microseconds if that is likely to pay off. Returns true if the caller should try again.
  func spin() -> Bool

  /// Adds a waiter to the line. Returns the time by which it must try again, or nil, without adding it, if it should
  /// try again now.
  ///
  /// - Parameters:
  ///   - waiter: The caller's wait.
  ///   - first: Whether it goes to the front of the line, because it stood there before.
  func lineUp(_ waiter: Waiter, first: Bool) -> Deadline?

  /// Removes a waiter from the line, if it is still there, after its wait has ended with this outcome. Returns whether it
  /// was; otherwise a waker has removed it, in its turn or because the queue was closed.
  @discardableResult
  func leave(_ waiter: Waiter, _ outcome: Waiter.Outcome) -> Bool

  /// Wakes the next waiter if it could proceed. Called after a wake-up that its receiver did not use.
  func passOn()
}

extension QueueLine {
  var timers: any TimerService { TimerThread.deadlines }
}

/// The state of one call that may have to wait at a queue: its deadline, its start, and how its wait ended.
@usableFromInline
struct QueueWait {
  @usableFromInline enum Operation {
    case put, take, select
  }

  @usableFromInline let operation: Operation
  let deadline: Deadline
  private var started: Deadline?
  /// Whether it was woken but overtaken. It then rejoins at the front of the line.
  private var wasWoken = false
  private var end: WaitError.Code?

  @usableFromInline
  init(_ operation: Operation, until deadline: Deadline) {
    self.operation = operation
    self.deadline = deadline
  }

  /// Whether the wait has ended without success. The caller then tries once more before it reports `error`.
  @usableFromInline
  var isOver: Bool { end != nil }

  /// Blocks the calling thread until it should try again or the wait is over.
  mutating func block(at line: some QueueLine) {
    guard mayBlock(on: line.timers) else { return }
    line.enterDumps()
    guard !line.spin() else { return }
    if started == nil { started = .now }
    let waiter = Waiter.ofThread()
    guard let limit = line.lineUp(waiter, first: wasWoken) else { return }
    HeadgateLog.note(.queue, "a thread waits to \(operation) at \"\(line.name)\"")
    LineObserver.note()
    let outcome = block(waiter, until: min(limit, deadline), on: line.timers)
    line.leave(waiter, outcome)
    note(outcome, limit)
  }

  /// Suspends the task until it should try again or the wait is over.
  nonisolated(nonsending) mutating func suspend(at line: some QueueLine) async {
    guard maySuspend(on: line.timers) else { return }
    line.enterDumps()
    if started == nil { started = .now }
    let waiter = Waiter.ofTask()
    guard let limit = line.lineUp(waiter, first: wasWoken) else { return }
    HeadgateLog.note(.queue, "a task waits to \(operation) at \"\(line.name)\"")
    LineObserver.note()
    let outcome = await waiter.wait(until: min(limit, deadline), on: line.timers)
    line.leave(waiter, outcome)
    note(outcome, limit)
  }

  /// Whether the calling thread may block now. If not, the wait is over.
  mutating func mayBlock(on timers: any TimerService = TimerThread.deadlines) -> Bool {
    guard maySuspend(on: timers) else { return false }
    if WorkerThread.mustNotBlock { end = .onCooperativeThread }
    return end == nil
  }

  /// Whether the deadline has not passed. If it has, the wait is over.
  mutating func maySuspend(on timers: any TimerService = TimerThread.deadlines) -> Bool {
    // Reading the clock costs as much as a put, so it is skipped if there is no deadline.
    guard deadline != .distantFuture else { return true }
    let now = timers.now
    if started == nil { started = now }
    if deadline <= now { end = .timedOut }
    return end == nil
  }

  private func block(_ waiter: Waiter, until limit: Deadline, on timers: any TimerService) -> Waiter.Outcome {
    // With the real clock the thread's own sleep has the deadline, so no timer is needed.
    if timers is TimerThread || limit == .distantFuture { return waiter.wait(until: limit) }
    let timer = timers.schedule(at: limit) { waiter.end(.timedOut) }
    defer { timer.cancel() }
    // A manual clock may have advanced past the limit before the timer was set.
    if timers.now >= limit { waiter.end(.timedOut) }
    return waiter.wait(until: .distantFuture)
  }

  /// Records how a wait ended. A wait that ended at the line's own limit has not timed out.
  mutating func note(_ outcome: Waiter.Outcome, _ limit: Deadline = .distantFuture) {
    LineObserver.note()
    switch outcome {
    case .woken, .pending: wasWoken = true
    case .timedOut: if limit < deadline { wasWoken = true } else { end = .timedOut }
    case .cancelled: end = .cancelled
    }
  }

  /// The error to report.
  @usableFromInline
  func error(at queue: String, _ code: WaitError.Code? = nil) -> WaitError {
    let text =
      switch operation {
      case .put: "put into \"\(queue)\""
      case .take: "take from \"\(queue)\""
      case .select: "select from \"\(queue)\""
      }
    let waited = started.map { Deadline.now - $0 } ?? .zero
    return WaitError(code ?? end ?? .timedOut, operation: text, waited: waited)
  }
}

/// Tells tests that a call has joined or left a queue's wait list. Without it tests would have to poll.
package enum LineObserver {
  private final class Call: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let call = AtomicLazyReference<Call>()

  /// Calls `body`, without a lock, after each change, for the rest of the process. Only the first call has an effect.
  package static func install(_ body: @escaping @Sendable () -> Void) { _ = call.storeIfNil(Call(body)) }

  static func note() { call.load()?.body() }
}
