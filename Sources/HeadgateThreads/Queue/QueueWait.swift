/// One call that may have to wait at a queue: until when, since when, and how it ended if it did not come to its turn.
@usableFromInline
struct QueueWait {
  @usableFromInline enum Operation {
    case put, take, select
  }

  let operation: Operation
  let deadline: Deadline
  private var started: Deadline?
  /// Whether it was woken before and came too late: it keeps its place then.
  var wasWoken = false
  private var end: WaitError.Code?

  @usableFromInline
  init(_ operation: Operation, until deadline: Deadline) {
    self.operation = operation
    self.deadline = deadline
  }

  /// Whether there is nothing left to wait for: a last try, and then `error`.
  @usableFromInline
  var isOver: Bool { end != nil }

  /// Looks at the deadline. False, and over, if it has passed.
  mutating func begin(on clock: (any TimerService)? = nil) -> Bool {
    // Asking the clock costs as much as putting an element: not where there is no deadline to compare with.
    if deadline != .distantFuture {
      let now = clock?.now ?? .now
      if started == nil { started = now }
      if deadline <= now {
        end = .timedOut
        return false
      }
    }
    return true
  }

  /// Is about to block the calling thread. False, and over, if that must not be.
  mutating func willBlock() -> Bool {
    if started == nil { started = .now }
    if WorkerThread.mustNotBlock { end = .onCooperativeThread }
    return end == nil
  }

  /// Is about to suspend the task.
  mutating func willSuspend() {
    if started == nil { started = .now }
  }

  /// Both at once: whether the calling thread may block now.
  @usableFromInline
  mutating func mayBlock() -> Bool { begin() && willBlock() }

  /// Whether the task may suspend now.
  @usableFromInline
  mutating func maySuspend() -> Bool {
    guard begin() else { return false }
    willSuspend()
    return true
  }

  /// Takes down how a wait ended.
  mutating func note(_ outcome: Waiter.Outcome) {
    switch outcome {
    case .woken, .pending: wasWoken = true
    case .timedOut: end = .timedOut
    case .cancelled: end = .cancelled
    }
  }

  /// What the caller is told.
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
