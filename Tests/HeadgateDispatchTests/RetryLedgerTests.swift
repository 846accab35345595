import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The budgets for retries, as a value and at a dispatcher.
@Suite struct RetryLedgerTests {
  private static func endPoint(_ number: Int) throws -> EndPoint { try EndPoint("http://h\(number)") }

  @Test(
    "in any order of events an end-point allows no more retries than it began with and has earned", arguments: 0..<50)
  func bounds(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var ledger = RetryLedger()
    let (endPoint, failing) = (try Self.endPoint(0), Int.random(in: 1..<10, using: &random))
    var (taken, answers, firsts) = (0, 0, 0)
    for _ in 0..<5000 {
      if Int.random(in: 0..<10, using: &random) >= failing {
        ledger.answered(endPoint)
        answers += 1
      } else {
        let isFirst = Bool.random(using: &random)
        if isFirst { firsts += 1 }
        let available = ledger.available(at: endPoint)
        let isLeft = ledger.takeRetry(at: endPoint, isFirst: isFirst)
        if available > 0 { #expect(isLeft) }
        if isLeft { taken += 1 }
      }
      #expect((0...100).contains(ledger.available(at: endPoint)))
      #expect(taken <= 100 + answers + firsts / 10 + 1)
    }
    for _ in 0..<100 { ledger.answered(endPoint) }
    #expect(ledger.available(at: endPoint) == 100)
    #expect(ledger.count == 0)
  }

  @Test("an end-point that never answers allows its reserve and then one retry for ten requests")
  func down() throws {
    var ledger = RetryLedger()
    let endPoint = try Self.endPoint(0)
    let taken = (0..<1100).count { _ in ledger.takeRetry(at: endPoint, isFirst: true) }
    #expect((199...221).contains(taken))
    #expect(ledger.available(at: try Self.endPoint(1)) == 100)
  }

  @Test("beyond its capacity it forgets the end-points that were not used for longest")
  func capacity() throws {
    var ledger = RetryLedger(capacity: 10)
    for number in 0..<1000 {
      // The first one is used all the time.
      _ = ledger.takeRetry(at: try Self.endPoint(0), isFirst: false)
      _ = ledger.takeRetry(at: try Self.endPoint(number), isFirst: false)
      #expect(ledger.count <= 10)
      #expect(ledger.available(at: try Self.endPoint(number)) < 100)
    }
    #expect(ledger.available(at: try Self.endPoint(0)) == 0)
    #expect(ledger.available(at: try Self.endPoint(1)) == 100)
  }

  // MARK: At a dispatcher

  /// How often a policy is made.
  enum Spelling: CaseIterable { case once, forEachRequest }

  /// What a server answers.
  enum Server: CaseIterable { case failsAtTimes, isDown, canNotBeReached }

  /// Sends 4,000 requests to a server. Returns how many of them ended without a 200, and how often the server was asked.
  private func run(_ server: Server, _ spelling: Spelling) throws -> (failed: Int, asked: Int) {
    let (random, asked) = (LockedBox(SeededRandom(seed: 7)), LockedBox(0))
    let transport = ScriptedTransport { exchange in
      asked.withLock { $0 += 1 }
      let isFailure = random.withLock { Int.random(in: 0..<10, using: &$0) } < 3
      switch server {
      case .failsAtTimes: exchange.respond(isFailure ? 502 : 200)
      case .isDown: exchange.respond(502)
      case .canNotBeReached: exchange.end(DispatchError(.connectFailed, phase: .connecting, detail: "refused"))
      }
    }
    let bench = try Bench(requests: 8, waiting: 10_000, transport: transport)
    let responses = Responses()
    func policy() -> RetryPolicy { RetryPolicy(attempts: 11, backoff: .constant(.seconds(1))) }
    let constant = policy()
    for number in 0..<4000 {
      var request = try bench.request()
      request.retry = spelling == .once ? constant : policy()
      bench.send(request, into: responses)
      if number % 100 == 99 { bench.clock.advance(by: .milliseconds(500)) }
    }
    for _ in 0..<20 { bench.clock.advance(by: .seconds(1)) }
    #expect(responses.count == 4000)
    #expect(bench.isClean())
    return (responses.values.count { (try? $0.get().statusCode) != 200 }, asked.withLock { $0 })
  }

  @Test("a server that fails steadily fails no request that its attempts save", arguments: Spelling.allCases)
  func steady(spelling: Spelling) throws {
    let (failed, asked) = try run(.failsAtTimes, spelling)
    #expect(failed == 0)
    #expect(asked > 5000)
  }

  @Test("retries add little to the load on a server that is down", arguments: Spelling.allCases)
  func load(spelling: Spelling) throws {
    for server in [Server.isDown, .canNotBeReached] {
      let (failed, asked) = try run(server, spelling)
      #expect(failed == 4000)
      #expect((4400...4600).contains(asked))
    }
  }

  @Test("an error says that the budget ended the request, and a response is delivered")
  func text() throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    let endPoint = request.endPoint
    bench.dispatcher.core.retries.withLock { ledger in
      for _ in 0..<100 { _ = ledger.takeRetry(at: endPoint, isFirst: false) }
    }
    request.retry = RetryPolicy(attempts: 3)
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.end(DispatchError(.connectionLost, phase: .awaitingHead, detail: "reset"))
    #expect(
      responses.last?.error?.detail
        == "reset; no retry: the retry budget of a:80 is used up; it grows as the server answers, and `RetryPolicy.budget` can remove it"
    )
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(502)
    #expect(try responses.last?.get().statusCode == 502)
    request.retry?.budget = .shared(RetryBudget(ratio: 0, reserve: 0, limit: 0))
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.end(DispatchError(.connectionLost))
    #expect(
      responses.last?.error?.detail == "no retry: the shared retry budget is used up; raise its ratio or limit")
    request.retry?.budget = .none
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.end(DispatchError(.connectionLost))
    bench.clock.advance(by: .seconds(1))
    bench.transport.takeStarted()?.respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a complete answer earns a retry; one that breaks off, and one with a status that is retried, do not")
  func earning() throws {
    let bench = try Bench()
    let endPoint = try bench.request().endPoint
    bench.dispatcher.core.retries.withLock { ledger in
      for _ in 0..<50 { _ = ledger.takeRetry(at: endPoint, isFirst: false) }
    }
    var expected = 50
    func send(_ gain: Int, _ answer: (ScriptedExchange) -> Void) throws {
      var request = try bench.request()
      request.retry = RetryPolicy(attempts: 1)
      bench.send(request, into: Responses())
      while let exchange = bench.transport.takeStarted() { answer(exchange) }
      expected += gain
      #expect(bench.dispatcher.core.retries.withLock { $0.available(at: endPoint) } == expected)
    }
    try send(1) { $0.respond(200) }
    try send(1) { $0.respond(404) }
    try send(0) { $0.respond(503) }
    try send(0) { exchange in
      exchange.head(200)
      exchange.end(DispatchError(.connectionLost, phase: .receiving))
    }
    // Both the redirect and its target.
    try send(2) { $0.request.url == "http://a/b" ? $0.respond(200) : $0.respond(302, [.location: "/b"]) }
    #expect(bench.isClean())
  }
}
