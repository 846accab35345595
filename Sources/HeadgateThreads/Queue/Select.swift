// Performs the first possible one of several operations: Go's select, Occam's ALT.

import Synchronization

/// Performs exactly one of several operations, the first that is possible, and returns the result of its case. Waits
/// until the deadline if none is possible yet.
///
/// ```swift
/// let event: Event = try select(
///   jobs.onTake { .job($0) },
///   ticks.onTake { .tick($0) },
///   results.onPut(result) { .sent },
///   until: .after(.seconds(1)))
/// ```
///
/// The queues may be of different kinds and have different element types. The case that is tried first changes with
/// each call, so that a queue that is always ready does not starve the others. A put into a closed queue and a take
/// from a closed and empty one are skipped. Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled``,
/// ``WaitError/Code/closed`` if all cases are skipped (or there are none), or ``WaitError/Code/onCooperativeThread`` on
/// a thread that must not block. A call that throws has performed none of the operations. O(n) in the number of cases.
@available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
public func select<Value: ~Copyable>(
  _ cases: SelectCase<Value>..., until deadline: Deadline = .distantFuture
) throws(WaitError) -> Value {
  try Select.first(of: cases, until: deadline)
}

/// Performs exactly one of any number of operations. Otherwise like the form with a list of cases.
///
/// ```swift
/// let (index, job) = try select(queues.enumerated().map { index, queue in queue.onTake { (index, $0) } })
/// ```
@available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
public func select<Value: ~Copyable>(
  _ cases: [SelectCase<Value>], until deadline: Deadline = .distantFuture
) throws(WaitError) -> Value {
  try Select.first(of: cases, until: deadline)
}

/// Performs exactly one of several operations, the first that is possible. Suspends until the deadline if none is
/// possible yet.
///
/// Like the blocking form, but a task that is cancelled while it waits throws `CancellationError`.
nonisolated(nonsending) public func select<Value: ~Copyable>(
  _ cases: SelectCase<Value>..., until deadline: Deadline = .distantFuture
) async throws -> Value {
  try await Select.first(of: cases, until: deadline)
}

/// Performs exactly one of any number of operations; suspends until one is possible. Otherwise like the form with a list
/// of cases.
nonisolated(nonsending) public func select<Value: ~Copyable>(
  _ cases: [SelectCase<Value>], until deadline: Deadline = .distantFuture
) async throws -> Value {
  try await Select.first(of: cases, until: deadline)
}

/// Performs one of several operations if one is possible without waiting; otherwise returns nil. Go's select with a
/// default.
///
/// Throws ``WaitError/Code/closed`` if all cases are skipped.
public func trySelect<Value: ~Copyable>(_ cases: SelectCase<Value>...) throws(WaitError) -> Value? {
  var select = Select(cases, until: .distantPast)
  return try select.attempt()
}

/// One call of `select`: a wait that stands in the lines of all its cases at once. A claim in one line ends the wait in
/// all of them.
private struct Select<Value: ~Copyable> {
  private struct Place {
    let index: Int
    let line: any QueueLine
    let waiter: Waiter
    /// When it must try again, by the clock of its line.
    let limit: Deadline
    var alarm: ScheduledTimer?

    /// Whether it must try again. The clock is read only if there is a limit.
    var isDue: Bool { limit < .distantFuture && limit <= line.timers.now }
  }

  private let cases: [SelectCase<Value>]
  private let first: Int
  private var wait: QueueWait
  // The cases that are still possible, and the places in line of the most recent wait.
  private var open: [Int] = []
  private var places: [Place] = []
  // The cases whose turn it was: if another caller was faster, this one is first again in their lines.
  private var wasFirst: Set<Int> = []

  init(_ cases: [SelectCase<Value>], until deadline: Deadline) {
    self.cases = cases
    first = firstToSelect(of: cases.count)
    wait = QueueWait(.select, until: deadline)
  }

  static func first(of cases: [SelectCase<Value>], until deadline: Deadline) throws(WaitError) -> Value {
    var select = Select(cases, until: deadline)
    while true {
      if let value = try select.attempt() { return value }
      guard select.wait.mayBlock() else { continue }
      let waiter = Waiter.ofThread()
      // On the real clock the thread's own sleep has the limits, as in `QueueWait`: an alarm could be due on this thread.
      if let limit = select.lineUp(waiter, hasAlarms: false) {
        select.wait.note(waiter.wait(until: min(limit, deadline)), limit)
      }
      if let value = select.leave() { return value }
    }
  }

  nonisolated(nonsending) static func first(
    of cases: [SelectCase<Value>], until deadline: Deadline
  ) async throws -> Value {
    var select = Select(cases, until: deadline)
    while true {
      do throws(WaitError) {
        if let value = try select.attempt() { return value }
      } catch {
        throw error.inTask
      }
      guard select.wait.maySuspend() else { continue }
      let waiter = Waiter.ofTask()
      if select.lineUp(waiter, hasAlarms: true) != nil { select.wait.note(await waiter.wait(until: deadline)) }
      if let value = select.leave() { return value }
    }
  }

  /// Tries each case. Returns nil if none is possible now and at least one may become possible.
  mutating func attempt() throws(WaitError) -> Value? {
    open = []
    for step in cases.indices {
      let index = (first + step) % cases.count
      switch cases[index].attempt(passOn) {
      case .element(let value): return value
      case .empty: open.append(index)
      case .closed: continue
      }
    }
    passOn()
    places = []
    guard open.isEmpty || wait.isOver else { return nil }
    let names = cases.map { $0.line.name }.joined(separator: "\", \"")
    throw open.isEmpty ? wait.error(at: names, .closed) : wait.error(at: names)
  }

  /// Joins the lines of the open cases. Returns the first limit that has no alarm; nil, with the waiter ended, if one of
  /// the cases should be tried again now.
  private mutating func lineUp(_ waiter: Waiter, hasAlarms: Bool) -> Deadline? {
    var first = Deadline.distantFuture
    for index in open {
      let line = cases[index].line
      line.enterDumps()
      let standIn = waiter.standIn()
      guard let limit = line.lineUp(standIn, first: wasFirst.contains(index)) else {
        // If this fails, a waker was first; `leave` and `passOn` handle that.
        _ = waiter.claim(.cancelled)
        return nil
      }
      let sleeps = !hasAlarms && line.timers is TimerThread
      if sleeps { first = min(first, limit) }
      let alarm = sleeps ? nil : alarm(at: limit, line.timers, waiter)
      places.append(Place(index: index, line: line, waiter: standIn, limit: limit, alarm: alarm))
    }
    LineObserver.note()
    return first
  }

  // An element that becomes due at a known moment ends the wait at that moment, by its queue's clock.
  private func alarm(at limit: Deadline, _ timers: any TimerService, _ waiter: Waiter) -> ScheduledTimer? {
    guard limit < .distantFuture else { return nil }
    let alarm = timers.schedule(at: limit) { waiter.end(.woken) }
    if timers.now >= limit { waiter.end(.woken) }
    return alarm
  }

  /// Leaves all lines. Returns the value if a partner has performed one of the operations.
  private mutating func leave() -> Value? {
    for place in places {
      place.alarm?.cancel()
      if !place.line.leave(place.waiter, .cancelled) || place.isDue { wasFirst.insert(place.index) }
    }
    LineObserver.note()
    for index in open {
      if let value = cases[index].handed(passOn) { return value }
    }
    return nil
  }

  /// The wake-up may have been meant for any of the queues, so it is passed on in each, however the last wait ended.
  /// This happens before the body of a case, which may take long, or may wait for the very caller that this wakes.
  private func passOn() {
    for place in places { place.line.passOn() }
  }
}

private let turn = AtomicCell<UInt>(0)

/// The case that is tried first: a different one each time, so that none is starved.
func firstToSelect(of count: Int) -> Int {
  guard count > 0 else { return 0 }
  // Incremented once per call and not once per try, because a call that always waits would otherwise see only every
  // second number. Two threads may get the same number, which is harmless and cheaper than an atomic increment.
  let number = turn.load(ordering: .relaxed)
  turn.store(number &+ 1, ordering: .relaxed)
  return Int(number % UInt(count))
}

/// One of the operations among which a `select` chooses: a take or a put, with the result of the select if it is
/// performed.
///
/// Created by `onTake` and `onPut` of queues. It can be used in several selects, one after another.
public struct SelectCase<Value: ~Copyable> {
  let line: any QueueLine
  /// Called after the case has stood in line. Returns the value if a partner has performed the operation meanwhile.
  /// Calls `done` before the body.
  var handed: (_ done: () -> Void) -> Value? = { _ in nil }
  /// Performs the operation if it need not wait. Calls `done` after the operation and before the body.
  let attempt: (_ done: () -> Void) -> TakeAttempt<Value>
}

// The result of trying one case of a select, as if the select took its value from a queue.
extension TakeAttempt where Element: ~Copyable {
  /// The result of an attempt to put.
  init<Source: ~Copyable>(_ attempt: consuming PutAttempt<Source>, _ done: () -> Void, _ body: () -> Element) {
    switch consume attempt {
    case .accepted:
      done()
      self = .element(body())
    case .full: self = .empty
    case .closed: self = .closed
    }
  }

  /// The result of an attempt to take.
  init<Source: ~Copyable>(
    _ attempt: consuming sending TakeAttempt<Source>, _ done: () -> Void, _ body: (consuming sending Source) -> Element
  ) {
    switch consume attempt {
    case .element(let element):
      done()
      self = .element(body(element))
    case .empty: self = .empty
    case .closed: self = .closed
    }
  }
}

extension BlockingQueue where Element: ~Copyable {
  /// A `select` case that takes from this queue.
  ///
  /// - Parameter body: Turns the element into the result of the select. Called without a lock.
  public func onTake<Value: ~Copyable>(
    _ body: @escaping (consuming sending Element) -> Value
  ) -> SelectCase<Value> {
    guard let rendezvous else {
      return SelectCase(line: CoreLine(core: core, isOfTakers: true)) { TakeAttempt(self.attempt(), $0, body) }
    }
    let node = Hand<Element>()
    return SelectCase(
      line: HandLine(rendezvous: rendezvous, node: node, operation: .take),
      handed: { done in
        guard let element = node.element.take() else { return nil }
        node.renew()
        done()
        return body(element)
      },
      attempt: { TakeAttempt(self.attempt(), $0, body) })
  }
}

extension BlockingQueue {
  /// A `select` case that puts an element into this queue. If another case is chosen, the element is not put.
  ///
  /// Requires `Sendable` elements, since the case may put the same element again in a later select.
  ///
  /// - Parameters:
  ///   - element: The element to put.
  ///   - body: Produces the result of the select. Called without a lock.
  public func onPut<Value: ~Copyable>(
    _ element: Element, _ body: @escaping () -> Value
  ) -> SelectCase<Value> where Element: Sendable {
    guard let rendezvous else {
      return SelectCase(line: CoreLine(core: core, isOfTakers: false)) {
        TakeAttempt(self.attempt(toPut: element), $0, body)
      }
    }
    let node = Hand<Element>(element)
    return SelectCase(
      line: HandLine(rendezvous: rendezvous, node: node, operation: .put),
      handed: { done in
        guard node.element == nil else { return nil }
        node.renew()
        node.element = element
        done()
        return body()
      },
      attempt: { TakeAttempt(self.attempt(toPut: element), $0, body) })
  }
}
