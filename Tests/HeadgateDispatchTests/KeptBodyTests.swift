import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The memory of responses that wait for interceptors.
@Suite struct KeptBodyTests {
  private static let body = [UInt8](repeating: 1, count: 200_000)
  private let clock = ManualClock()
  private let transport = ScriptedTransport()
  private let responses = Responses()
  private let goesOn = Gate()

  private func dispatcher(_ maxBodyMemory: Int, _ hooks: Hooks) throws -> URLDispatcher {
    URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: clock,
      logger: .silent, interceptors: [hooks], maxBodyMemory: maxBodyMemory)
  }

  private func hooks(_ answer: InterceptorAnswer = .deliver) -> Hooks {
    Hooks(interest: { response, _ in response.statusCode == 500 }) { [goesOn] _, _ in
      await goesOn.waitRegardless()
      return answer
    }
  }

  private func send(_ count: Int, through dispatcher: URLDispatcher) throws {
    let request = try DispatchRequest("http://kept.example/")
    for _ in 0..<count { dispatcher.dispatch(request) { [responses] in responses.add($0) } }
  }

  @Test("while reviews wait, what they keep is bounded, and in the end every response is delivered")
  func bounded() async throws {
    let bound = 1_000_000
    let dispatcher = try dispatcher(bound, hooks())
    try send(1000, through: dispatcher)
    var kept = 0
    var exchange = try await transport.next()
    exchange.head(500)
    while exchange.body(Self.body) == .more, kept < 10 {
      exchange.end()
      kept += 1
      exchange = try await transport.next()
      exchange.head(500)
    }
    // The last one has its permit and its body, and waits.
    try #require(kept == bound / Self.body.count)
    #expect(dispatcher.core.bodies.bytes <= bound + Self.body.count)
    #expect(dispatcher.gate.counts.running == 1)
    goesOn.open()
    try await exchange.resumed.wait()
    exchange.end()
    for _ in kept + 1..<1000 {
      let exchange = try await transport.next()
      exchange.head(500)
      if exchange.body(Self.body) == .pause { await exchange.resumed.waitRegardless() }
      exchange.end()
    }
    await dispatcher.shutDown()
    #expect(responses.count == 1000)
    #expect(try responses.values.allSatisfy { try $0.get().body.count == Self.body.count })
    #expect(dispatcher.core.bodies.bytes == 0)
  }

  @Test("a response that waits for reviews of others is not delayed beyond its timeout, which returns its permit")
  func timeout() async throws {
    let dispatcher = try dispatcher(0, hooks(.resend))
    try send(2, through: dispatcher)
    let first = try await transport.next()
    first.head(500)
    #expect(first.body(Self.body) == .more)
    first.end()
    let second = try await transport.next()
    second.head(500)
    try #require(second.body(Self.body) == .pause)
    clock.advance(by: .seconds(60))
    #expect(responses.values.map(\.code) == [.timedOut])
    goesOn.open()
    let again = try await transport.next()
    #expect(dispatcher.core.bodies.bytes == 0)
    again.respond()
    await dispatcher.shutDown()
    #expect(responses.count == 2)
  }

  @Test("small bodies are not counted, and a collected body does not wait for reviews")
  func others() async throws {
    let dispatcher = try dispatcher(0, hooks())
    try send(4, through: dispatcher)
    for count in [4096, 4096, 200_000] {
      let exchange = try await transport.next()
      exchange.head(500)
      #expect(exchange.body(Array(Self.body.prefix(count))) == .more)
      exchange.end()
    }
    #expect(dispatcher.core.bodies.bytes == 200_000)
    let collected = try await transport.next()
    collected.head()
    #expect(collected.body(Self.body) == .more)
    collected.end()
    dispatcher.cancelAll(to: collected.request.endPoint)
    await dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [nil, .cancelled, .cancelled, .cancelled])
    #expect(dispatcher.core.bodies.bytes == 0)
    goesOn.open()
  }
}
