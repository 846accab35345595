import HeadgateThreads

@testable import HeadgateDispatch

/// A gate's scheduler and its loans, driven as the gate does it, with numbers in the place of requests.
struct GateUnderTest: ExercisedScheduler {
  let state: GateState<Int>

  init(_ limits: GateLimits) { state = GateState(limits) }

  var waiting: Int { state.withQueues { $0.waiting } }
  var expected: Int { state.withQueues { $0.expected } }
  var rememberedEndPoints: Int { state.withQueues { $0.rememberedEndPoints } }
  var hasEffects: Bool { state.withQueues { $0.hasEffects } }
  var runningOnLoan: Int { state.loans.all.reduce(0) { sum, cell in sum + cell.loan.withLock { $0.running } } }
  var running: Int { state.withQueues { $0.running } + runningOnLoan }
  var alive: Int { state.withQueues { $0.alive } + runningOnLoan }

  func next() -> Numbers.Effect? { state.withQueues { $0.next() } }
  func brokenInvariant(inFull: Bool) -> String? { state.withQueues { $0.brokenInvariant(inFull: inFull) } }

  func submit(
    _ item: Int, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal,
    at moment: Deadline = .distantPast, patience: Numbers.Patience = .waits, mayBeHeld: Bool = false,
    mayStart: Bool = false, as admission: Numbers.Admission = .new
  ) -> Numbers.Submission {
    state.submit(
      item, to: endPoint, lane, priority: priority, at: moment, patience: patience, mayBeHeld: mayBeHeld,
      mayStart: mayStart, as: admission
    ).0
  }

  func finish(_ ticket: Ticket) -> Int? {
    switch state.finish(ticket) {
    case .here(let item): item
    case .gone: nil
    case .elsewhere(let own): state.withQueues { $0.finish(own) }
    }
  }

  func withdraw(_ ticket: Ticket) -> Numbers.Withdrawal {
    switch state.withdraw(ticket) {
    case .here: .running
    case .gone: .gone
    case .elsewhere(let own): state.withQueues { state.withdraw(own, named: ticket, in: &$0) }
    }
  }

  func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Bool {
    switch state.setPriority(priority, of: ticket) {
    case .here: true
    case .gone: false
    case .elsewhere(let own): state.withQueues { $0.setPriority(priority, of: own) }
    }
  }

  func move(_ ticket: Ticket, to endPoint: EndPoint) -> Numbers.Move {
    state.withQueues { state.move(ticket, to: endPoint, in: &$0) }
  }

  func reclass(_ ticket: Ticket) -> Numbers.Reclass {
    state.withQueues { $0.reclass(state.own(ticket, in: &$0)) }
  }

  func outlook(
    for endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal,
    at moment: Deadline = .distantPast, patience: Numbers.Patience = .waits
  ) -> Numbers.Outlook {
    state.outlook(for: endPoint, lane, priority: priority, at: moment, patience: patience)
  }

  func setPaused(_ isPaused: Bool, at endPoint: EndPoint) { state.withLock { $0.setPaused(isPaused, at: endPoint) } }
  func setMultiplexing(_ does: Bool, at endPoint: EndPoint) {
    guard state.isNews(multiplexes: does, at: endPoint) else { return }
    state.withLock { $0.setMultiplexing(does, at: endPoint) }
  }
  func setLimits(_ limits: GateLimits) { state.withLock { $0.setLimits(limits) } }
  func expect(wasHere: Bool) -> Bool { state.withQueues { $0.expect(wasHere: wasHere) } }
  func forgetExpected() { state.withQueues { $0.forgetExpected() } }
  func close(_ mode: Numbers.Closing) { state.withLock { $0.close(mode) } }
}
