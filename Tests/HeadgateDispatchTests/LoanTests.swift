import Dispatch
import HeadgateThreads
import Synchronization
import Testing

@testable import HeadgateDispatch

/// When permits are lent, and what calls them in.
@Suite struct LoanTests {
  private static let place = try? EndPoint(host: "h", port: 80)

  /// A gate where the end-point was used once and rests.
  private static func gate(total: Int = 100) throws -> (GateUnderTest, EndPoint) {
    let endPoint = try #require(place)
    let gate = GateUnderTest(try GateLimits(endPoint: .standard, total: total))
    let ticket = try #require(gate.start(0, at: endPoint))
    #expect(ticket.loan == nil && gate.finish(ticket) == 0)
    return (gate, endPoint)
  }

  @Test("an end-point that comes again gets its permits on loan; one that is new does not")
  func second() throws {
    let (gate, endPoint) = try Self.gate()
    let tickets = try (1...6).map { try #require(gate.start($0, at: endPoint)) }
    #expect(tickets.allSatisfy { $0.loan != nil } && Set(tickets).count == 6)
    #expect(gate.runningOnLoan == 6 && gate.running == 6)
    for (item, ticket) in zip(1..., tickets) { #expect(gate.finish(ticket) == item) }
    #expect(gate.running == 0)
    // Given back twice, and under a name that was another's.
    #expect(gate.finish(tickets[0]) == nil && gate.runningOnLoan == 0)
  }

  @Test("the request that is one too many calls the loan in and waits for a permit of those that run")
  func tooMany() throws {
    let (gate, endPoint) = try Self.gate()
    let tickets = try (1...6).map { try #require(gate.start($0, at: endPoint)) }
    guard case .accepted(let waiting) = gate.submit(7, to: endPoint, mayStart: true) else {
      Issue.record("a seventh beside six started")
      return
    }
    #expect(gate.runningOnLoan == 0 && gate.running == 6 && gate.waiting == 1)
    #expect(gate.finish(tickets[3]) == 4)
    guard case .start(7, let started, _)? = gate.next() else {
      Issue.record("nobody got the permit")
      return
    }
    #expect(started == waiting && gate.finish(started) == 7)
    for item in [1, 2, 3, 5, 6] { #expect(gate.finish(tickets[item - 1]) == item) }
    // Crowded the last time: decided by the scheduler once more, then on loan again.
    let next = try #require(gate.start(8, at: endPoint))
    #expect(next.loan == nil && gate.finish(next) == 8)
    #expect(try #require(gate.start(9, at: endPoint)).loan != nil)
  }

  @Test("whatever concerns more than one request finds all of them with the scheduler")
  func exact() throws {
    let (gate, endPoint) = try Self.gate()
    let tickets = try (1...3).map { try #require(gate.start($0, at: endPoint)) }
    let fourth = try #require(gate.start(4, at: endPoint))
    #expect(gate.finish(fourth) == 4)
    #expect(gate.state.withLock { $0.items(at: endPoint) }.sorted() == [1, 2, 3])
    #expect(gate.state.withLock { $0.peak.running } == 4)
    #expect(gate.runningOnLoan == 0)
    gate.close(.aborting)
    for expected in 1...3 {
      guard case .abort(expected)? = gate.next() else {
        Issue.record("\(expected) was not asked to end")
        return
      }
    }
    for (item, ticket) in zip(1..., tickets) { #expect(gate.finish(ticket) == item) }
    guard case .drained? = gate.next() else {
      Issue.record("nobody was told that it is empty")
      return
    }
    #expect(gate.start(4, at: endPoint) == nil)
  }

  @Test("what is asked and noted often ends no loan: counts, and what the end-point's sockets carry")
  func often() throws {
    let (gate, endPoint) = try Self.gate()
    let tickets = try (1...2).map { try #require(gate.start($0, at: endPoint)) }
    let counts = gate.state.counts
    #expect(counts.running == 2 && counts.peak == 2 && counts.peakEndPoint == endPoint && counts.endPoints == 1)
    #expect(!gate.state.isNews(multiplexes: false, at: endPoint))
    gate.setMultiplexing(false, at: endPoint)
    #expect(gate.runningOnLoan == 2)
    for ticket in tickets { _ = gate.finish(ticket) }
    #expect(gate.state.counts.running == 0 && gate.state.counts.endPoints == 0)
    // Lent and idle is not busy, for another gate that asks.
    #expect(!gate.state.isBusy(endPoint))
    let last = try #require(gate.start(9, at: endPoint))
    #expect(gate.state.isBusy(endPoint) && gate.finish(last) == 9)
    // News ends it: what it lends is another number from here on.
    gate.setMultiplexing(true, at: endPoint)
    #expect(
      try #require(gate.start(3, at: endPoint)).loan != nil && gate.state.isNews(multiplexes: false, at: endPoint))
  }

  @Test("news of an end-point's sockets starts all that wait there, also where idle loans used the total up")
  func news() throws {
    let (gate, endPoint) = try Self.gate(total: 12)
    let other = try EndPoint(host: "other", port: 80)
    var limits = try GateLimits(endPoint: .standard, total: 12)
    limits.overrides[other] = try EndPointLimits(requests: 12, connections: 1)
    gate.setLimits(limits)
    _ = gate.finish(try #require(gate.start(0, at: endPoint)))
    #expect(gate.finish(try #require(gate.start(1, at: endPoint))) == 1)
    #expect(gate.state.withQueues { $0.lent } == 6)
    for item in 10..<19 { _ = gate.submit(item, to: other, mayStart: true) }
    #expect(gate.running == 1 && gate.waiting == 8)
    gate.setMultiplexing(true, at: other)
    while gate.next() != nil {}
    #expect(gate.running == 9 && gate.waiting == 0)
  }

  @Test("names of redirected requests don't make a loan slower, and are given back")
  func names() throws {
    let (gate, endPoint) = try Self.gate()
    let other = try EndPoint(host: "other", port: 80)
    gate.setPaused(true, at: other)
    var tickets: [Ticket] = []
    for item in 0..<900 {
      let ticket = try #require(gate.start(item, at: endPoint))
      tickets.append(ticket)
      guard case .moved = gate.move(ticket, to: other) else {
        Issue.record("it did not go on")
        return
      }
    }
    let named = tickets.filter { $0.loan != nil }.count
    #expect(named > 300 && gate.state.loans.all.reduce(0) { $0 + $1.loan.withLock { $0.names } } == named)
    for ticket in tickets {
      guard case .waiting = gate.withdraw(ticket), case .gone = gate.withdraw(ticket) else {
        Issue.record("it did not wait")
        return
      }
    }
    #expect(gate.state.loans.all.allSatisfy { cell in cell.loan.withLock { $0.names == 0 } })
    let next = try #require(gate.start(1000, at: endPoint))
    #expect(!tickets.contains(next) && gate.finish(next) == 1000)
  }

  @Test("loans leave half of the total, and whoever needs that half and more gets it")
  func total() throws {
    let (gate, endPoint) = try Self.gate(total: 12)
    let lent = try #require(gate.start(1, at: endPoint))
    #expect(lent.loan != nil)
    // Half is on loan: nobody else gets one.
    let resting = try EndPoint(host: "resting", port: 80)
    for item in 2..<5 {
      let ticket = try #require(gate.start(item, at: resting))
      #expect(ticket.loan == nil && gate.finish(ticket) == item)
    }
    // Six are on loan, one of them used: eleven others fit beside it.
    let others = try (0..<3).map { try EndPoint(host: "other\($0)", port: 80) }
    var started = 0
    for item in 0..<18 {
      if gate.start(100 + item, at: others[item / 6]) != nil { started += 1 }
      while let effect = gate.next() { if case .start = effect { started += 1 } }
    }
    #expect(started == 11 && gate.running == 12 && gate.waiting == 7)
    #expect(gate.finish(lent) == 1)
    guard case .start? = gate.next() else {
      Issue.record("the permit did not go on")
      return
    }
  }

  @Test("a request that was cancelled on loan keeps its permit until it has ended, called in or not")
  func cancelled() throws {
    let (gate, endPoint) = try Self.gate()
    let ticket = try #require(gate.start(1, at: endPoint))
    guard case .running = gate.withdraw(ticket), case .gone = gate.withdraw(ticket) else {
      Issue.record("it was withdrawn twice, or not at all")
      return
    }
    gate.state.withLock { _ in }
    guard case .gone = gate.withdraw(ticket) else {
      Issue.record("it was withdrawn once more")
      return
    }
    #expect(gate.running == 1 && gate.finish(ticket) == 1 && gate.running == 0)
  }

  @Test("loans that nothing uses make room for others")
  func idle() throws {
    let gate = GateUnderTest(try GateLimits(endPoint: .standard, total: 120))
    // Ten end-points' permits fit into the half that may be lent.
    let endPoints = try (0..<40).map { try EndPoint(host: "h\($0)", port: 80) }
    for endPoint in endPoints { _ = gate.finish(try #require(gate.start(0, at: endPoint))) }
    var onLoan = 0
    for _ in 0..<2000 {
      for endPoint in endPoints[30...] {
        let ticket = try #require(gate.start(1, at: endPoint))
        if ticket.loan != nil { onLoan += 1 }
        _ = gate.finish(ticket)
      }
    }
    for endPoint in endPoints[..<10] {
      for _ in 0..<3 { _ = gate.finish(try #require(gate.start(2, at: endPoint))) }
    }
    // Most of the last ten and then most of the first ten were lent, one after the other.
    #expect(onLoan > 15_000)
    var lentNow = 0
    for _ in 0..<1000 {
      for endPoint in endPoints[..<10] {
        let ticket = try #require(gate.start(3, at: endPoint))
        if ticket.loan != nil { lentNow += 1 }
        _ = gate.finish(ticket)
      }
    }
    #expect(lentNow > 5000)
  }

  @Test("threads that start and end, while others ask, stop and set limits: never more than may be, and all ends")
  func threads() throws {
    let gate = EndPointGate(limits: try GateLimits(endPoint: try EndPointLimits(requests: 3), total: 40))
    let endPoints = try (0..<6).map { try EndPoint(host: "h\($0)", port: 80) }
    let inside = endPoints.map { _ in Counter() }
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      for turn in 0..<2000 {
        let number = (turn &* 7 &+ thread) % endPoints.count
        switch turn % 97 {
        case 13: _ = gate.counts
        case 29: _ = gate.snapshot()
        case 41:
          gate.pause(endPoints[number])
          gate.resume(endPoints[number])
        case 61: gate.setLimits(turn % 2 == 0 ? nil : .classic, for: endPoints[number])
        default: break
        }
        let counter = inside[number]
        let request = gate.requestPermit(for: endPoints[number], lane: turn % 11 == 0 ? .long : .short) { result in
          guard case .success(let permit) = result else { return }
          counter.enter()
          counter.leave()
          permit.release()
        }
        if turn % 17 == 0 { request.cancel() }
      }
    }
    let drained = DispatchSemaphore(value: 0)
    gate.close(.draining)
    gate.whenDrained { drained.signal() }
    drained.wait()
    // Four where a limit of its own was set, three elsewhere.
    #expect(inside.allSatisfy { $0.peak <= 4 && $0.count == 0 })
    #expect(gate.counts.running == 0 && gate.counts.waiting == 0 && gate.counts.endPoints == 0)
    #expect(gate.state.loans.all.allSatisfy { cell in cell.loan.withLock { $0.names == 0 && $0.running == 0 } })
  }

  /// Counts who is inside.
  private final class Counter: Sendable {
    private let state = Locked((count: 0, peak: 0))
    var count: Int { state.withLock { $0.count } }
    var peak: Int { state.withLock { $0.peak } }
    func enter() {
      state.withLock { state in
        state.count += 1
        state.peak = max(state.peak, state.count)
      }
    }
    func leave() { state.withLock { $0.count -= 1 } }
  }
}

extension GateUnderTest {
  /// Submits a short request; its ticket if it runs at once.
  fileprivate func start(_ item: Int, at endPoint: EndPoint) -> Ticket? {
    if case .started(let ticket, _) = submit(item, to: endPoint, mayStart: true) { ticket } else { nil }
  }

  fileprivate func submit(_ item: Int, to endPoint: EndPoint, mayStart: Bool) -> Scheduler<Int>.Submission {
    submit(item, to: endPoint, .short, mayStart: mayStart)
  }
}
