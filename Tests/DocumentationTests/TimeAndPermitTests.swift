import Headgate
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import Synchronization
import Testing

/// The code of the articles on deadlines, retries and bare permits.
@Suite struct TimeAndPermitTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  private final class Refusals: Sendable {
    private let left: Mutex<Int>
    init(_ count: Int) { left = Mutex(count) }
    func next() -> OriginAnswer? {
      left.withLock { left in
        left -= 1
        return left >= 0 ? .text("later", status: 503) : nil
      }
    }
  }

  @Test("a request that is sent three times")
  func retries() async throws {
    let refusals = Refusals(2)
    let server = try Origin(script: OriginScript { _ in refusals.next() })
    let (url, dispatcher) = (server.url("/"), try URLDispatcher())
    var request = try DispatchRequest(url)
    request.timeout = .seconds(10)
    request.deadline = .seconds(60)
    request.retry = RetryPolicy(attempts: 3)
    let response = try await dispatcher.data(for: request)
    print(response.statusCode, "after", response.times.attempts, "attempts")
    #expect(
      printed.text == """
        200 after 3 attempts
        """)
    await dispatcher.shutDown()
  }

  @Test("other budgets for retries")
  func budgets() throws {
    var request = try DispatchRequest("http://budget.example/")
    // As many retries as `attempts` allows.
    request.retry = RetryPolicy(attempts: 3, budget: .none)
    // One retry for ten requests, whatever the server answers.
    let budget = RetryBudget(ratio: 0.1, reserve: 10)
    request.retry = RetryPolicy(attempts: 3, budget: .shared(budget))
    #expect(request.retry?.attempts == 3)
  }

  @Test("a deadline that passes in the queue")
  func deadline() async throws {
    let (clock, transport, printed) = (ManualClock(), ScriptedTransport(), printed)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock)
    var request = try DispatchRequest("http://deadline.example/")
    request.timeout = nil
    dispatcher.dispatch(request) { _ in }
    let running = try await transport.next()
    request.deadline = .seconds(5)
    let urgent = request
    @Sendable func print(_ items: Any...) { printed.add(items) }
    // The task runs on this loop until it waits for its response.
    let loop = try ThreadLoop(name: "caller")
    let caller = Task(executorPreference: loop.taskExecutor) {
      do throws(DispatchError) {
        let late = try await dispatcher.data(for: urgent)
        print(late.text)
      } catch {
        let reason = error.waitReason.map { "it waited for: \($0)" } ?? "it did not wait"
        print(error.code, "-", reason)
      }
    }
    try await loop.performAndWait {}
    #expect(dispatcher.gate.counts.waiting == 1)
    clock.advance(by: .seconds(5))
    await caller.value
    #expect(
      printed.text == """
        deadline_exceeded - it waited for: limit 1/1
        """)
    running.respond()
    await dispatcher.shutDown()
    loop.stop()
  }

  @Test("one moment for two waits on a thread")
  func moments() async throws {
    let (gate, endPoint, done) = (EndPointGate(), try EndPoint(host: "moments.example", port: 1), Notify())
    let work: @Sendable () -> Void = { done.notifyOne() }
    let thread = try ManagedThread.spawn(name: "moments") {
      let limit = Deadline.after(.seconds(5))
      try gate.withPermit(for: endPoint, until: limit) { work() }
      try gate.withPermit(for: endPoint, until: limit) { work() }
    }
    try await thread.value()
    #expect(gate.counts.running == 0 && gate.counts.peak == 1)
  }

  @Test("permits for anything")
  func permits() async throws {
    let transport = ScriptedTransport { $0.respond(200, body: "items") }
    @Sendable func query(_ text: String) async throws -> [String] { [text] }
    @Sendable func callWithAnotherLibrary() async throws -> Int { 7 }
    func start(_ whenDone: () -> Void) { whenDone() }
    let perAccount = try ScopeLimits(requests: 2)

    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 2)))
    let database = try EndPoint(host: "db.example", port: 5432)
    let rows = try await gate.withPermit(for: database) { try await query("select 1") }
    #expect(rows == ["select 1"])

    let dispatcher = URLDispatcher(transport: transport, sharing: gate)
    let endPoint = try EndPoint("http://api.example.com/")
    let result = try await gate.withPermit(for: endPoint) { try await callWithAnotherLibrary() }
    let response = try await dispatcher.data(for: "http://api.example.com/items")
    #expect(result == 7 && response.text == "items")

    let thread = try ManagedThread.spawn(name: "rows") {
      @Sendable func countRows() -> Int { 3 }
      let count = try gate.withPermit(for: database, until: .after(.seconds(5))) { countRows() }
      return count
    }
    #expect(try await thread.value() == 3)

    let permit = try await gate.permit(for: database, deadline: .seconds(5))
    start { permit.release() }
    if let spare = gate.tryPermit(for: database) {
      start { spare.release() }
    }

    gate.updateLimits { $0.scopes[.key("acct-7")] = perAccount }
    let other = try await gate.withPermit(for: endPoint, scopes: [.key("acct-7")]) {
      try await callWithAnotherLibrary()
    }
    #expect(other == 7)
    #expect(gate.counts.running == 0)
    await dispatcher.shutDown()
  }

  @Test("how the work with a permit went")
  func reports() async throws {
    struct TooManyConnections: Error {}
    func query(_ text: String) async throws { throw TooManyConnections() }
    let (gate, database) = (EndPointGate(), try EndPoint(host: "reports.example", port: 5432))
    do {
      let permit = try await gate.permit(for: database)
      defer { permit.release() }
      do {
        try await query("select 1")
        permit.report(.answered)
      } catch is TooManyConnections {
        permit.report(.refused(retryAfter: .seconds(5)))
      }
    }
    let next = gate.requestPermit(for: database) { _ in }
    #expect(next.waitReason?.kind == .paused)
    next.cancel()
  }
}
