import HeadgateThreads
import Synchronization

/// A gate's scheduler behind its lock, and the permits that it has lent: an object of its own, so that others can ask it
/// while the gate itself goes.
///
/// Lock order: the scheduler's, then a loan's. Whoever has only a loan's lock touches nothing else.
final class GateState<Item: Sendable>: Sendable {
  let loans = LoanTable<Item>()
  // Read wherever a request starts on a loan: what the scheduler writes stands in no cache line of it.
  private let padding = CacheLines()
  private let scheduler: Locked<Scheduler<Item>>
  // Where the next idle loan is looked for when there is no room for a new one.
  private let hand = Atomic<Int>(0)

  init(_ limits: GateLimits) { scheduler = Locked(Scheduler(limits: limits)) }

  /// Asks or changes what concerns more than one request: first all loans are called in, so that the scheduler knows
  /// all. O(loans) beside what `body` does.
  func withLock<Result>(
    _ body: (inout sending Scheduler<Item>) -> sending Result
  ) -> sending Result {
    scheduler.withLock { scheduler in
      callAllIn(&scheduler)
      return body(&scheduler)
    }
  }

  /// For the events of single requests, which need no loan but those of their end-points called in.
  @inline(__always)
  func withQueues<Result>(
    _ body: (inout sending Scheduler<Item>) -> sending Result
  ) -> sending Result {
    scheduler.withLock { scheduler in
      if scheduler.mustCallIn { callAllIn(&scheduler) }
      return body(&scheduler)
    }
  }

  /// In debug builds, stops the process if the calling thread holds the lock: the first line of an outcall.
  func assertNotHeld() { scheduler.assertNotHeld() }

  /// Whether anything runs or waits for an end-point.
  func isBusy(_ endPoint: EndPoint) -> Bool {
    withQueues { scheduler in
      // One that is lent counts as busy until it is seen whether anything runs there.
      callIn(endPoint, &scheduler, isCrowded: false)
      return scheduler.isBusy(endPoint)
    }
  }

  /// What runs and waits, on loan or not. Ends no loan, since programs ask for it often. O(loans).
  var counts: GateCounts {
    scheduler.withLock { scheduler in
      var (running, endPoints, peak) = (scheduler.running, scheduler.rememberedEndPoints, scheduler.peak)
      if scheduler.lent > 0 {
        for cell in loans.all {
          let loan = cell.loan.withLock { ($0.endPoint, $0.running, $0.peak) }
          guard let endPoint = loan.0 else { continue }
          running += loan.1
          // The scheduler takes one that is lent for a busy one.
          if loan.1 == 0 { endPoints -= 1 }
          if loan.2 > peak.running { peak = (loan.2, endPoint) }
        }
      }
      return GateCounts(
        running: running, waiting: scheduler.waiting, endPoints: endPoints, peak: peak.running,
        peakEndPoint: peak.endPoint)
    }
  }

  private func hasRoomOnLoan(_ endPoint: EndPoint) -> Bool {
    loans.find(endPoint)?._withUnsafeGuaranteedRef { cell in
      cell.loan.withLock { $0.endPoint == endPoint && $0.running < $0.permits }
    } ?? false
  }

  /// What a request would meet: see `Scheduler.outlook`.
  func outlook(
    for endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal, at moment: Deadline,
    patience: Scheduler<Item>.Patience = .waits
  ) -> Scheduler<Item>.Outlook {
    withQueues { scheduler in
      // Beside a loan with a permit left the scheduler, too, sees room there.
      if scheduler.lent > 0, !hasRoomOnLoan(endPoint) { callIn(endPoint, &scheduler, isCrowded: false) }
      return scheduler.outlook(for: endPoint, lane, priority: priority, at: moment, patience: patience)
    }
  }

  // MARK: Single requests

  /// A request comes: see `Scheduler.submit`. O(1) where it starts at once on a loan.
  ///
  /// - Returns: What became of it; whether effects are left to be delivered; whether its end-point was not known.
  @inline(__always)
  func submit(
    _ item: Item, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority, at moment: Deadline,
    patience: Scheduler<Item>.Patience, mayBeHeld: Bool, mayStart: Bool, as admission: Scheduler<Item>.Admission
  ) -> (Scheduler<Item>.Submission, hasMore: Bool, isNew: Bool) {
    let mayBorrow = mayStart && lane == .short && admission.age == nil
    if mayBorrow, let (ticket, sockets) = take(item, for: endPoint, priority: priority, at: moment) {
      return (.started(ticket, limit: sockets), false, false)
    }
    return withQueues { scheduler -> (Scheduler<Item>.Submission, hasMore: Bool, isNew: Bool) in
      if mayBorrow,
        let (ticket, sockets) = borrow(item, for: endPoint, priority: priority, at: moment, in: &scheduler)
      {
        return (.started(ticket, limit: sockets), scheduler.hasEffects, false)
      }
      callIn(endPoint, &scheduler, isCrowded: true)
      let met = scheduler.metEndPoints
      let submission = scheduler.submit(
        item, to: endPoint, lane, priority: priority, at: moment, patience: patience, mayBeHeld: mayBeHeld,
        mayStart: mayStart, as: admission)
      return (submission, scheduler.hasEffects, scheduler.metEndPoints != met)
    }
  }

  /// Starts a short request on its end-point's loan, if there is one with a permit left. O(1).
  @inline(__always)
  private func take(
    _ item: Item, for endPoint: EndPoint, priority: RequestPriority, at moment: Deadline
  ) -> (ticket: Ticket, sockets: Int)? {
    loans.find(endPoint)?._withUnsafeGuaranteedRef { cell in
      cell.loan.withLock { loan in
        loan.take(item, for: endPoint, age: moment.nanoseconds, priority).map { ($0, loan.sockets) }
      }
    }
  }

  /// Ends a request that runs on a loan, where nobody waits whom its permit could go to. O(1).
  @inline(__always)
  func finish(_ ticket: Ticket) -> Loan<Item>.Answer {
    guard let number = ticket.loan else { return .elsewhere(ticket) }
    return answer(at: number) { $0.finish(ticket) }
  }

  /// Notes that a request was asked to end. O(1).
  func withdraw(_ ticket: Ticket) -> Loan<Item>.Answer {
    guard let number = ticket.loan else { return .elsewhere(ticket) }
    return answer(at: number) { $0.withdraw(ticket) }
  }

  /// Makes a request more or less urgent. O(1).
  func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Loan<Item>.Answer {
    guard let number = ticket.loan else { return .elsewhere(ticket) }
    return answer(at: number) { $0.setPriority(priority, of: ticket) }
  }

  /// Whether it is news that an end-point's sockets carry several requests at once, or that they don't. O(1); where
  /// permits are on loan nobody else is asked.
  func isNews(multiplexes: Bool, at endPoint: EndPoint) -> Bool {
    let isKnown = loans.find(endPoint)?._withUnsafeGuaranteedRef { cell in
      cell.loan.withLock { $0.endPoint == endPoint && $0.multiplexes == multiplexes }
    }
    return isKnown != true && withQueues { $0.isNews(multiplexes: multiplexes, at: endPoint) }
  }

  // The item of the answer goes when the lock is free again.
  @inline(__always)
  private func answer(
    at number: Int, _ ask: (inout Loan<Item>) -> Loan<Item>.Answer
  ) -> Loan<Item>.Answer {
    loans[number]?._withUnsafeGuaranteedRef { cell in cell.loan.withLock { ask(&$0) } } ?? .gone
  }

  // MARK: Under the scheduler's lock

  /// A request that the scheduler has is to end: see `Scheduler.withdraw`. If it began on a loan, its name there goes with
  /// it, since nobody will finish one that waits.
  func withdraw(
    _ own: Ticket, named ticket: Ticket, in scheduler: inout Scheduler<Item>
  ) -> Scheduler<Item>.Withdrawal {
    let withdrawal = scheduler.withdraw(own)
    if let number = ticket.loan, !scheduler.knows(own) {
      loans[number]?._withUnsafeGuaranteedRef { cell in cell.loan.withLock { $0.forget(ticket) } }
    }
    return withdrawal
  }

  /// A running request goes on elsewhere: see `Scheduler.move`.
  func move(
    _ ticket: Ticket, to endPoint: EndPoint, in scheduler: inout Scheduler<Item>
  ) -> Scheduler<Item>.Move {
    let own = own(ticket, in: &scheduler)
    callIn(endPoint, &scheduler, isCrowded: true)
    return scheduler.move(own, to: endPoint)
  }

  /// By which ticket the scheduler knows a request, whose loan ends with this. O(those who run there).
  func own(_ ticket: Ticket, in scheduler: inout Scheduler<Item>) -> Ticket {
    guard let number = ticket.loan else { return ticket }
    guard let cell = loans[number]?.takeUnretainedValue() else { return .none }
    if let own = cell.loan.withLock({ $0.own(ticket) }) { return own }
    // It goes on elsewhere or becomes a stream: where that is usual, lending would only be called in again.
    callIn(cell, &scheduler, isCrowded: true)
    return cell.loan.withLock { $0.own(ticket) } ?? .none
  }

  /// Starts a short request where its end-point's permits are lent and one is left, or may be lent.
  private func borrow(
    _ item: Item, for endPoint: EndPoint, priority: RequestPriority, at moment: Deadline,
    in scheduler: inout Scheduler<Item>
  ) -> (ticket: Ticket, sockets: Int)? {
    if scheduler.lent > 0, scheduler.isLent(endPoint) {
      // Another thread may have begun a loan since this one looked.
      return take(item, for: endPoint, priority: priority, at: moment)
    }
    guard scheduler.mayLend(endPoint), lends(endPoint, &scheduler) else { return nil }
    return take(item, for: endPoint, priority: priority, at: moment)
  }

  /// The end-point's loan ends, if there is one. O(those who run there).
  ///
  /// - Parameter isCrowded: Whether that is because more came than the loan was for.
  func callIn(_ endPoint: EndPoint, _ scheduler: inout Scheduler<Item>, isCrowded: Bool) {
    guard scheduler.lent > 0, scheduler.isLent(endPoint) else { return }
    let (first, second) = loans.cells(for: endPoint)
    let isFirst = first.loan.withLock { $0.endPoint == endPoint }
    callIn(isFirst ? first : second, &scheduler, isCrowded: isCrowded)
  }

  /// Lends the end-point's permits, if there is room for them in the total and in one of its two cells.
  private func lends(_ endPoint: EndPoint, _ scheduler: inout Scheduler<Item>) -> Bool {
    guard scheduler.hasRoomToLend(endPoint) else {
      if scheduler.lent > 0 { makeRoom(at: hand.add(1, ordering: .relaxed).newValue, &scheduler) }
      return false
    }
    let (first, second) = loans.cells(for: endPoint)
    for cell in [first, second] {
      let isFree = cell.loan.withLock { loan in
        guard loan.endPoint == nil else { return false }
        scheduler.lend(endPoint, to: &loan)
        return true
      }
      guard isFree else { continue }
      cell.hash.store(endPoint.storedHash, ordering: .relaxed)
      return true
    }
    makeRoom(at: first.number, &scheduler)
    makeRoom(at: second.number, &scheduler)
    return false
  }

  /// Ends a loan that nothing has used since it was looked at here the last time. One a request that finds no room: more,
  /// and where more end-points are in use than can be lent, in turn, none would last until it is used again.
  private func makeRoom(at place: Int, _ scheduler: inout Scheduler<Item>) {
    guard let cell = loans[place & (Ticket.loans - 1)]?.takeUnretainedValue() else { return }
    if cell.loan.withLock({ $0.endPoint != nil && $0.isIdle() }) { callIn(cell, &scheduler, isCrowded: false) }
  }

  /// All loans end. O(loans).
  func callAllIn(_ scheduler: inout Scheduler<Item>) {
    guard scheduler.lent > 0 else { return }
    for cell in loans.all { callIn(cell, &scheduler, isCrowded: false) }
  }

  private func callIn(_ cell: LoanCell<Item>, _ scheduler: inout Scheduler<Item>, isCrowded: Bool) {
    cell.loan.withLock { scheduler.callIn(&$0, isCrowded: isCrowded) }
    cell.hash.store(0, ordering: .relaxed)
  }
}
