import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The state of an operation as a value, with interceptors and without, under random events: whatever ends the request
/// comes between any two steps of those who carry it.
@Suite struct OperationStateRandomTests {
  @Test(
    "D120 whatever comes when, each request ends once; its permit and what the gate expects come back once each",
    arguments: 0..<400)
  func anything(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for round in 0..<25 {
      var exerciser = try OperationExerciser(isIntercepted: round % 4 != 0)
      for step in 0..<60 {
        // Most are left alone for a while, so that they get far.
        if step > 4, Int.random(in: 0..<25, using: &random) == 0 { exerciser.fail() }
        exerciser.step(&random)
        #expect(exerciser.violations == [], "seed \(seed), round \(round), step \(step)")
      }
      exerciser.fail()
      for _ in 0..<20 { exerciser.step(&random) }
      exerciser.checkEnd()
      #expect(exerciser.violations == [], "seed \(seed), round \(round), at the end")
      if !exerciser.violations.isEmpty { return }
    }
  }

  @Test("the random events reach every stage and every way")
  func reach() throws {
    var seen: Set<String> = []
    for seed in UInt64(0)..<60 {
      var random = SeededRandom(seed: seed)
      var exerciser = try OperationExerciser(isIntercepted: true)
      for _ in 0..<60 { exerciser.step(&random) }
      seen.formUnion(exerciser.seen)
    }
    #expect(
      seen.isSuperset(of: [
        "prepared", "granted", "redirected", "rested", "kept", "reviewed", "sent again", "let be", "asked",
        "credential", "outdated", "whole", "failed",
      ]))
  }
}

/// Those who carry one request, one step at a time.
private struct OperationExerciser {
  private final class Control: ExchangeControl {
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .awaitingHead }
  }

  /// What is done next.
  private enum Place {
    case new, preparing, bringing, queued, starting, running, resting, reviewing(KeptResponse), telling, answering, over
  }

  private var state: OperationState
  private let request: DispatchRequest
  private let isIntercepted: Bool
  private var place = Place.new
  private var now = Deadline(nanoseconds: 1_000_000)
  private var generation: UInt32 = 0
  private(set) var violations: [String] = []
  private(set) var seen: Set<String> = []
  // What is owed, by the books of those who carry it.
  private var permits = 0
  private var expectations = 0
  private var outcomes = 0
  private var works: [(canceller: Canceller, cancelled: LockedBox<Bool>)] = []
  private var launch: OperationState.Launch?

  init(isIntercepted: Bool) throws {
    request = try DispatchRequest("http://a/")
    self.isIntercepted = isIntercepted
    state = OperationState(.short, submitted: now, deadline: nil)
  }

  private mutating func work() -> Canceller {
    let canceller = Canceller()
    let cancelled = LockedBox(false)
    canceller.set { cancelled.withLock { $0 = true } }
    works.append((canceller, cancelled))
    return canceller
  }

  private mutating func deliver(_ outcome: consuming OperationState.Outcome?) {
    guard let outcome else { return }
    outcomes += 1
    seen.insert(outcome.error == nil ? "whole" : "failed")
    if outcomes > 1 { violations.append("it ended twice") }
  }

  private mutating func giveBack(_ ticket: Ticket?) {
    guard let ticket, ticket.generation == generation, permits == 1 else { return }
    permits = 0
  }

  private mutating func forget() {
    guard state.takeExpectation() else { return }
    expectations -= 1
    if expectations < 0 { violations.append("the gate was told twice") }
  }

  private mutating func expect() {
    expectations += 1
    if expectations > 1 { violations.append("it is expected twice") }
  }

  // MARK: From outside

  mutating func fail() {
    now = now + .milliseconds(1)
    let wasIntercepted = state.isIntercepted
    guard var consequences = state.fail(DispatchError(.cancelled), phase: nil, at: now) else { return }
    if wasIntercepted {
      guard let work = consequences.work else {
        violations.append("interceptors work on")
        return
      }
      work.cancel()
      if works.last?.cancelled.withLock({ $0 }) != true { violations.append("the wrong work was cancelled") }
      if permits != 0 { violations.append("a permit was held by interceptors") }
    }
    // A place in the queue is given up at once.
    if case .queued = place, consequences.withdraw != nil { place = .over }
    if let ticket = consequences.finish { giveBack(ticket) }
    deliver(consequences.outcome.take())
    forget()
  }

  // MARK: Steps

  mutating func step(_ random: inout SeededRandom) {
    now = now + .milliseconds(1)
    if state.isIntercepted, permits != 0 { violations.append("a permit is held by interceptors") }
    switch place {
    case .new:
      if isIntercepted { prepare() } else { place = .bringing }
    case .preparing:
      guard state.prepared(request, of: request, at: now) != nil else { return place = .over }
      seen.insert("prepared")
      // The submission takes what was expected.
      expectations -= 1
      place = .bringing
    case .bringing:
      generation += 1
      if Bool.random(using: &random) {
        place = .queued
        if state.accepted(Ticket(slot: 0, generation: generation)) != nil { place = .over }
      } else {
        grant()
      }
    case .queued: grant()
    case .starting:
      guard let launch else { return }
      if isIntercepted, Int.random(in: 0..<6, using: &random) == 0 { return prepareLate() }
      place = .running
      _ = state.started(Control(), hop: launch.hop, at: now)
    case .running: run(&random)
    case .resting:
      if isIntercepted { return prepare() }
      place = state.endRest(of: request, at: now) == nil ? .over : .bringing
    case .reviewing(let kept): review(kept, &random)
    case .telling: end(Bool.random(using: &random) ? DispatchError(.connectionLost) : nil)
    case .answering: answer(&random)
    case .over: break
    }
  }

  private mutating func prepare() {
    expect()
    place = .preparing
    if !state.beginPreparing(work(), of: request) {
      expectations -= 1
      place = .over
    }
  }

  private mutating func prepareLate() {
    expect()
    guard let hand = state.prepareLate(work()) else {
      expectations -= 1
      return conclude(state.over(at: now))
    }
    seen.insert("outdated")
    giveBack(hand.ticket)
    place = .preparing
  }

  private mutating func grant() {
    permits += 1
    let ticket = Ticket(slot: 0, generation: generation)
    launch = state.granted(ticket, at: now)
    if launch == nil {
      giveBack(ticket)
      place = .over
    } else {
      seen.insert("granted")
      place = .starting
    }
  }

  private mutating func run(_ random: inout SeededRandom) {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<2:
      if state.attempt(of: request, at: now) != nil, state.planRetry(request, after: .seconds(1)) {
        seen.insert("rested")
      }
      end(DispatchError(.connectionLost))
    case 2..<4:
      if state.head == nil, state.challenge == nil, state.keeping == nil, !state.isDecided {
        state.redirect = request
        seen.insert("redirected")
      }
      end(nil)
    case 4..<7:
      guard let (sent, _) = state.reviewable(request) else { return end(nil) }
      let head = Bool.random(using: &random) ? ResponseHead(statusCode: 401) : nil
      let failure = head == nil ? DispatchError(.connectionLost) : nil
      state.keep(KeptResponse(InterceptedResponse(request: sent, head: head, error: failure), [0]))
      seen.insert("kept")
      end(failure)
    default: tell(asks: Bool.random(using: &random))
    }
  }

  /// A head comes to the sink.
  private mutating func tell(asks: Bool) {
    if case .enters(_, let resumes, _) = state.enterSink(with: 0, ResponseHead(statusCode: 401), asks: asks, at: now) {
      if asks { seen.insert("asked") }
      if state.leaveSink(pausing: false, resumesBefore: resumes) { deliver(state.claimOutcome(at: now)) }
    }
    end(nil)
  }

  private mutating func end(_ failure: DispatchError?) {
    if isIntercepted, let kept = state.keptEnd(ExchangeEnd(failure: failure), at: now) { return beginReview(kept) }
    let ending = state.ended(ExchangeEnd(failure: failure), of: request, at: now)
    guard let next = ending.next else {
      conclude(ending)
      if state.isDecided { place = .over } else { place = .answering }
      return
    }
    if ending.rest != nil {
      guard let ticket = state.beginRest(next, at: now) else { return conclude(state.over(at: now)) }
      giveBack(ticket)
      place = .resting
    } else if isIntercepted {
      hop(next)
    } else {
      follow(next)
    }
  }

  private mutating func conclude(_ ending: consuming OperationState.Ending) {
    giveBack(ending.ticket)
    deliver(ending.outcome.take())
    forget()
    place = .over
  }

  private mutating func follow(_ next: DispatchRequest) {
    switch state.follow(next, after: request, at: now) {
    case nil: conclude(state.over(at: now))
    case .same(let launch):
      self.launch = launch
      place = .starting
    case .other: violations.append("it is the same end-point")
    }
  }

  private mutating func hop(_ next: DispatchRequest) {
    let isNew = !state.isExpected
    if isNew { expect() }
    guard let hand = state.prepareHop(next, work(), at: now) else {
      if isNew { expectations -= 1 }
      return conclude(state.over(at: now))
    }
    giveBack(hand.ticket)
    place = .preparing
  }

  private mutating func beginReview(_ kept: KeptResponse) {
    expect()
    guard let hand = state.beginReview(work(), of: request, at: now) else {
      expectations -= 1
      return conclude(state.over(at: now))
    }
    seen.insert("reviewed")
    giveBack(hand.ticket)
    place = .reviewing(kept)
  }

  private mutating func review(_ kept: KeptResponse, _ random: inout SeededRandom) {
    if Bool.random(using: &random) {
      guard state.sendAgain(nil, by: 0) else { return place = .over }
      seen.insert("sent again")
      place = .preparing
    } else {
      guard state.letBe(kept, at: now) else { return place = .over }
      seen.insert("let be")
      guard let head = kept.response.head else { return place = .telling }
      let asks = Bool.random(using: &random)
      if case .enters(_, let resumes, _) = state.enterSink(with: 0, head, asks: asks, at: now) {
        if state.leaveSink(pausing: false, resumesBefore: resumes) { deliver(state.claimOutcome(at: now)) }
      }
      place = .telling
    }
  }

  /// A delegate's answer, once the exchange is over.
  private mutating func answer(_ random: inout SeededRandom) {
    guard Bool.random(using: &random) else {
      var next = state.proceed(of: request, at: now)
      if let ending = next.ending.take() { conclude(ending) } else { place = .over }
      return
    }
    switch state.sendAgain(request, after: request, at: now) {
    case .decided: place = .over
    case .starts(let launch):
      self.launch = launch
      place = .starting
    case .prepares:
      seen.insert("credential")
      hop(request)
    case .drains: violations.append("the exchange was over")
    }
  }

  mutating func checkEnd() {
    if outcomes != 1 { violations.append("it ended \(outcomes) times") }
    if permits != 0 { violations.append("a permit was not given back") }
    if expectations != 0 { violations.append("the gate expects it still") }
  }
}

extension OperationState {
  /// Whether it is in the hands of its interceptors.
  fileprivate var isIntercepted: Bool {
    if case .intercepted = stage { return true }
    return false
  }
}
