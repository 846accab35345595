import HTTPTypes
import HeadgateTesting
import HeadgateThreads

@testable import HeadgateDispatch
@testable import HeadgateGate

/// All parties to one request (gate, transport, timers, consumer, interceptors) in one object. Each step is an event for
/// the operation's state, and any step may come between two others.
final class OperationExerciser {
  private static let followed = FollowedRedirect(url: "http://a/", statusCode: 307)
  // Never read.
  private static var bytes: OperationState.Delivery { .bytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

  private final class Control: ExchangeControl {
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .awaitingHead }
  }

  /// The next step of a party.
  private enum Step {
    case bring, accept(Ticket, Int), grant(Ticket), prepare
    case start(Launch), started(Int), transport, leave(resumes: Int, isPausing: Bool), resume, answer
    case wake(TimerQueue.Key), yield(InterceptorWork), work(InterceptorWork), giveBack, tellKept(KeptResponse)
    case keep(OperationTimers.Purpose, TimerQueue.Key), giveUp(Int?)
  }

  private var state: OperationState
  private let request: DispatchRequest
  private let elsewhere: DispatchRequest
  private let isIntercepted: Bool
  private let clock = ManualClock()
  private var steps: [Step]
  private var generation: UInt32 = 0
  private(set) var violations: [String] = []
  private(set) var seen: Set<String> = []
  // The state by the parties' own records.
  private var permits: Set<UInt32> = []
  private var granted: Set<UInt32> = []
  private var expectations = 0
  private var outcomes = 0
  private var isExchangeOpen = false
  private var isPlayingKept = false
  // The response was cut short, so it must not be reported as complete.
  private var isCut = false

  init(isIntercepted: Bool) throws {
    var request = try DispatchRequest("http://a/")
    request.timeout = .seconds(60)
    request.idleTimeout = .seconds(30)
    self.request = request
    elsewhere = try DispatchRequest("http://b/")
    self.isIntercepted = isIntercepted
    steps = [isIntercepted ? .prepare : .bring]
    state = OperationState(request, .short, isIntercepted: isIntercepted, submitted: clock.now, deadline: nil)
    let deadline = timer()
    _ = state.keep(deadline, for: .deadline)
  }

  /// A random step of one party.
  func step(_ random: inout SeededRandom) {
    clock.advance(by: .milliseconds(1))
    guard !steps.isEmpty else { return }
    if Int.random(in: 0..<20, using: &random) == 0 { lookWhetherIdle() }
    perform(steps.remove(at: Int.random(in: 0..<steps.count, using: &random)), &random)
    check()
  }

  /// An event from outside: a cancellation, a time limit, a shutdown, a change of lane.
  func meddle(_ random: inout SeededRandom) {
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      if let timer = state.becameLong() { drop(timer) }
      seen.insert("long")
    case 1: if !state.isDecided, state.timers.timeout != nil { fail(.timedOut) }
    case 2: fail(.deadlineExceeded)
    case 3:
      if state.silence(isHeld: false, lastSent: .distantPast, at: clock.now) >= 30_000_000_000 { fail(.idleTimedOut) }
    case 4: fail(.shutDown)
    default: fail(.cancelled)
    }
    check()
  }

  func fail(_ code: DispatchError.Code = .cancelled) {
    if let action = state.fail(DispatchError(code), phase: nil, at: clock.now) {
      perform(action)
    } else if outcomes == 0, !state.isDecided {
      violations.append("it could not be ended")
    }
  }

  /// All remaining steps are done.
  func finish(_ random: inout SeededRandom) {
    fail()
    for _ in 0..<200 where !steps.isEmpty { step(&random) }
    if outcomes != 1 { violations.append("it ended \(outcomes) times") }
    if !permits.isEmpty { violations.append("a permit was not returned") }
    if expectations != 0 { violations.append("the gate still expects it") }
    if clock.pendingCount != 0 { violations.append("a timer is left") }
    if !steps.isEmpty { violations.append("\(steps) go on") }
  }

  // MARK: Steps

  private func perform(_ step: Step, _ random: inout SeededRandom) {
    switch step {
    case .bring: bring(&random)
    case .accept(let ticket, let submission):
      let before = state.ticket
      if let late = state.accepted(ticket, of: submission) { withdraw(late) }
      if before == nil, state.ticket == ticket, granted.contains(ticket.generation) {
        violations.append("it keeps a ticket that was granted before")
      }
    case .grant(let ticket): grant(ticket)
    case .prepare:
      expect()
      perform(state.expected(for: .preparation(GateApproach(reason: .submission)), at: clock.now))
    case .start(let launch):
      // The preparation may be outdated.
      if isIntercepted, case .starting = state.stage, Int.random(in: 0..<8, using: &random) == 0 {
        seen.insert("outdated")
        return perform(state.outdated(at: clock.now))
      }
      // Each start may be counted at its own end-point.
      if let reason = launch.resending, Bool.random(using: &random) {
        seen.insert("waits again")
        return perform(state.waitsAgain(reason, at: clock.now))
      }
      if isExchangeOpen { violations.append("two exchanges at once") }
      isExchangeOpen = true
      isCut = false
      steps += [.started(launch.number), .transport]
    case .started(let number): started(number)
    case .transport: isPlayingKept ? playKept(&random) : play(&random)
    case .leave(let resumes, let isPausing): leave(resumes: resumes, isPausing: isPausing)
    case .resume: _ = state.resumed(at: clock.now)
    case .answer: answer(&random)
    case .wake(let timer):
      // The timer fires, and is gone.
      drop(timer)
      if let next = state.woke(at: clock.now) { perform(next) }
    case .yield(let work): yield(work, &random)
    case .giveBack:
      // Its permit is needed elsewhere, or the patience is over. Both may come too late.
      guard Bool.random(using: &random) else { return }
      guard let (claim, timer) = state.givePermitBack() else { return }
      seen.insert("gave back")
      if let timer { drop(timer) }
      expect()
      release(claim)
    case .work(let work): self.work(work, &random)
    case .tellKept(let kept):
      guard state.tell(kept, at: clock.now) else { return }
      (isPlayingKept, isCut) = (true, false)
      steps.append(.transport)
    case .keep(let purpose, let timer):
      if let superfluous = state.keep(timer, for: purpose) { drop(superfluous) }
    case .giveUp(let number):
      let fired = state.timers.idle
      guard let control = state.giveUpExchange(number, because: DispatchError(.idleTimedOut)) else { return }
      if !(control is Control) { violations.append("a kept response is discarded") }
      if let fired { drop(fired) }
      seen.insert("given up")
    }
  }

  /// The timer of the idle limit fires. The exchange may be over by the time that it is given up.
  private func lookWhetherIdle() {
    let silence = state.silence(isHeld: false, lastSent: .distantPast, at: clock.now)
    let isLooking = steps.contains { if case .giveUp = $0 { true } else { false } }
    if silence > 0, state.timers.idle != nil, !isLooking { steps.append(.giveUp(state.exchange?.number)) }
  }

  private func bring(_ random: inout SeededRandom) {
    generation += 1
    let (ticket, submission) = (Ticket(slot: 0, generation: generation), state.nextSubmission())
    // The submission ends the expectation.
    if isIntercepted { expectations -= 1 }
    if Bool.random(using: &random) { steps.append(.accept(ticket, submission)) }
    steps.append(.grant(ticket))
  }

  private func grant(_ ticket: Ticket) {
    permits.insert(ticket.generation)
    granted.insert(ticket.generation)
    if let launch = state.granted(ticket, at: clock.now) {
      seen.insert("granted")
      steps.append(.start(launch))
    } else {
      permits.remove(ticket.generation)
    }
  }

  private func started(_ number: Int) {
    guard
      case .running(_, let timeout, let needsIdle) = state.started(Control(), number: number, at: clock.now)
    else { return }
    if let timeout { arm(.timeout(start: timeout.number)) }
    if needsIdle { arm(.idle) }
  }

  /// The transport delivers an event of an exchange.
  private func play(_ random: inout SeededRandom) {
    let failure = Bool.random(using: &random) ? DispatchError(.connectionLost) : nil
    switch Int.random(in: 0..<16, using: &random) {
    case 0..<2: plan(.followed(.redirect(request, Self.followed)), "redirected")
    case 2: plan(.followed(.redirect(elsewhere, Self.followed)), "led elsewhere")
    case 3..<5: plan(.followed(.retry(request, after: .seconds(1))), "put off")
    case 5..<8 where isIntercepted:
      guard let sent = state.sent else { return steps.append(.transport) }
      let head = failure == nil ? ResponseHead(statusCode: 401) : nil
      plan(.kept(KeptResponse(InterceptedResponse(request: sent.request, head: head, error: failure), [0])), "kept")
    case 8: receive(.head(ResponseHead(statusCode: 401), asks: true), &random)
    case 9: receive(.head(ResponseHead(statusCode: 200), asks: false), &random)
    case 10: receive(Self.bytes, &random)
    case 11: receive(.trailers([:]), &random)
    case 12:
      if let timer = state.waitStarted(for: .socket, at: clock.now) { drop(timer) }
      steps.append(.transport)
    case 13:
      if let timeout = state.waitEnded(for: .socket, at: clock.now) {
        seen.insert("held")
        arm(.timeout(start: timeout.number))
      }
      steps.append(.transport)
    default: end(failure, &random)
    }
  }

  private func plan(_ course: ExchangeState.Course, _ word: String) {
    if state.plan(course) { seen.insert(word) }
    steps.append(.transport)
  }

  private func end(_ failure: DispatchError?, _ random: inout SeededRandom) {
    let failure = state.exchange?.fault ?? failure
    var course: ExchangeState.Course?
    if failure != nil, let sent = state.sent, sent.exchange.isOpen {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: course = .followed(.repeated(request))
      case 1: course = .followed(.retry(request, after: .seconds(1)))
      default: break
      }
      if course != nil { seen.insert("sent again") }
    }
    let isAgain = Int.random(in: 0..<(failure == nil ? 8 : 2), using: &random) == 0
    if isAgain, state.voidResponse(forgettingRedirects: Bool.random(using: &random)) != nil {
      seen.insert(failure == nil ? "rest" : "void")
      course = .followed(failure == nil ? .range(request) : .retry(request, after: .seconds(1)))
      if let next = state.leaveConsumer(isPausing: false, resumes: 0) { perform(next) }
    }
    isExchangeOpen = false
    perform(state.ended(ExchangeEnd(failure: failure), course, at: clock.now))
  }

  /// A response that interceptors have reviewed is delivered.
  private func playKept(_ random: inout SeededRandom) {
    switch Int.random(in: 0..<3, using: &random) {
    case 0: receive(.head(ResponseHead(statusCode: 401), asks: Bool.random(using: &random)), &random)
    case 1: receive(Self.bytes, &random)
    default:
      isPlayingKept = false
      perform(state.ended(ExchangeEnd(), at: clock.now))
    }
  }

  private func receive(_ delivery: OperationState.Delivery, _ random: inout SeededRandom) {
    let reception = state.received(delivery, at: clock.now)
    guard case .tell(_, _, let resumes, let timer) = reception else {
      if case .abort = reception { isCut = true }
      return steps.append(.transport)
    }
    if outcomes > 0 { violations.append("the consumer is told something after the end") }
    if let timer { drop(timer) }
    if case .head(_, asks: true) = delivery {
      seen.insert("asked")
      steps.append(.answer)
    }
    let isPausing = Bool.random(using: &random)
    if isPausing { steps.append(.resume) }
    // The transport continues once the consumer has returned.
    steps.append(.leave(resumes: resumes, isPausing: isPausing))
  }

  private func leave(resumes: Int, isPausing: Bool) {
    if let next = state.leaveConsumer(isPausing: isPausing, resumes: resumes) {
      seen.insert("ended inside")
      perform(next)
    }
    steps.append(.transport)
  }

  private func answer(_ random: inout SeededRandom) {
    if Bool.random(using: &random) {
      perform(state.proceed(at: clock.now))
    } else {
      if case .answering = state.stage { seen.insert("credential") }
      perform(state.resend(with: request, at: clock.now))
    }
  }

  private func yield(_ work: InterceptorWork, _ random: inout SeededRandom) {
    if Int.random(in: 0..<8, using: &random) > 0 {
      expect()
      return perform(state.expected(for: work, at: clock.now))
    }
    seen.insert("refused")
    switch work {
    case .preparation: fail(.shutDown)
    case .review(let kept, _): steps.append(.tellKept(kept))
    }
  }

  private func work(_ work: InterceptorWork, _ random: inout SeededRandom) {
    switch work {
    case .preparation:
      switch state.prepared(request, at: clock.now) {
      case nil: break
      case .submit:
        seen.insert("prepared")
        steps.append(.bring)
      case .start(let launch, let timer):
        seen.insert("renewed")
        if let timer { drop(timer) }
        steps.append(.start(launch))
      }
    case .review(let kept, _):
      seen.insert("reviewed")
      guard Bool.random(using: &random) else { return steps.append(.tellKept(kept)) }
      if state.resend(nil, by: 0) { steps.append(.work(.preparation(GateApproach(reason: .interceptor)))) }
    }
  }

  // MARK: Actions

  private func perform(_ action: OperationState.Action) {
    if let timer = action.timer { drop(timer) }
    if let ticket = action.withdrawn { withdraw(ticket) }
    if let claim = action.released { release(claim) }
    if let next = action.next { perform(next) }
  }

  private func perform(_ next: OperationState.Next) {
    switch next {
    case .start(let launch): steps.append(.start(launch))
    case .move(let ticket, _, _):
      // The permit is returned, and the ticket waits at the other end-point, unless it was withdrawn before.
      permits.remove(ticket.generation)
      if !state.isDecided { steps.append(.grant(ticket)) }
    case .backOff(_, let claim):
      seen.insert("rested")
      release(claim)
      let timer = timer()
      steps += [.keep(.backOff(attempts: state.attempts), timer), .wake(timer)]
    case .comeBack: steps.append(isIntercepted ? .prepare : .bring)
    case .yield(let work): steps.append(.yield(work))
    case .renew(let number):
      let timer = timer()
      steps += [
        .keep(.renewal(number: number), timer), .giveBack,
        .work(.preparation(GateApproach(reason: .interceptor))),
      ]
    case .intercept(let work, let claim):
      if let claim { release(claim) }
      steps.append(.work(work))
    case .resume: seen.insert("drains")
    case .deliver(let outcome):
      outcomes += 1
      seen.insert(outcome.error == nil ? "whole" : "failed")
      if outcome.error == nil, isCut { violations.append("a response that was cut short is reported as complete") }
      outcome.timers.cancel(on: clock)
    }
  }

  private func expect() {
    expectations += 1
    if expectations > 1 { violations.append("it is expected twice") }
  }

  private func release(_ claim: OperationState.Claim) {
    switch claim {
    case .expectation:
      expectations -= 1
      if expectations < 0 { violations.append("the gate was told twice that it does not come") }
    case .permit(let ticket), .unusedPermit(let ticket):
      if permits.remove(ticket.generation) == nil { violations.append("a permit was returned twice") }
      if isExchangeOpen { violations.append("a permit was returned while the exchange was open") }
    }
  }

  /// Removes it from the queue.
  private func withdraw(_ ticket: Ticket) {
    steps.removeAll { step in
      if case .grant(let granted) = step { return granted.generation == ticket.generation }
      return false
    }
  }

  // MARK: Timers

  private func timer() -> TimerQueue.Key { clock.schedule(at: .distantFuture) {}.key }

  /// A timer may fire, or its exchange may end, before the timer is stored.
  private func arm(_ purpose: OperationTimers.Purpose) { steps.append(.keep(purpose, timer())) }

  // A timer that has fired may be cancelled again.
  private func drop(_ timer: TimerQueue.Key) { _ = clock.cancel(ScheduledTimer(service: clock, key: timer)) }

  // MARK: Rules

  private func check() {
    let isArming = steps.contains { if case .keep = $0 { true } else { false } }
    if case .running(let exchange, let control) = state.stage, control is Control, !isArming {
      if exchange.needsTimeout, state.timers.timeout == nil {
        violations.append("an exchange runs without its timeout")
      }
      if exchange.fault == nil, state.timers.idle == nil {
        violations.append("an exchange runs without its idle limit")
      }
    }
    switch state.stage {
    case .backingOff, .intercepted, .renewing, .waiting:
      if state.timers.timeout != nil { violations.append("the timeout counts while nothing runs") }
      if isExchangeOpen { violations.append("it is suspended, and its exchange is open") }
    case .over:
      if state.timers.isEmpty == false, outcomes > 0 { violations.append("a timer outlives the request") }
    default: break
    }
    if outcomes > 1 { violations.append("it ended twice") }
  }
}
