import HTTPTypes
import Headgate
import HeadgateTesting
import Testing

struct Shop: Sendable {
  let dispatcher: URLDispatcher

  func price(of item: Int) async throws -> Int {
    var request = try DispatchRequest("https://shop.example/items/\(item)/price")
    request.timeout = nil
    request.deadline = .seconds(120)
    request.retry = RetryPolicy(attempts: 3)
    let response = try await dispatcher.data(for: request).successful()
    return Int(response.text) ?? 0
  }
}

@Suite struct ShopTests {
  let clock = ManualClock()
  let transport = ScriptedTransport()
  let shop: Shop

  init() {
    var limits = GateLimits.standard
    limits.pauses = PausePolicy(jitter: 0)
    shop = Shop(dispatcher: URLDispatcher(transport: transport, limits: limits, timers: clock))
  }

  @Test("a price arrives after the half minute that the shop asks for", .timeLimit(.minutes(1)))
  func busy() async throws {
    let shop = shop
    async let price = shop.price(of: 7)
    try await transport.next().respond(503, [.retryAfter: "30"])
    try await clock.timers(2)  // the deadline, and the end of the pause
    clock.advance(by: .seconds(30))
    try await transport.next().respond(200, body: "12")
    #expect(try await price == 12)
  }

  @Test("without an answer the call ends at its deadline, not later", .timeLimit(.minutes(1)))
  func silent() async throws {
    let shop = shop
    let price = Task { try await shop.price(of: 7) }
    let exchange = try await transport.next()
    clock.advance(by: .seconds(120))
    let error = await #expect(throws: DispatchError.self) { try await price.value }
    #expect(error?.code == .deadlineExceeded && exchange.request.url == "https://shop.example/items/7/price")
  }
}
