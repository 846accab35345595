import HTTPTypes
import Headgate
import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateInstruments
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The examples on the front pages of the catalogs.
@Suite struct FrontPageTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  @Test("Headgate")
  func headgate() async throws {
    let server = try Origin(script: OriginScript(connectionLimit: 2))
    let dispatcher = try URLDispatcher(perHost: 2)
    async let first = dispatcher.data(for: server.url("/bytes/100"))
    async let second = dispatcher.data(for: server.url("/bytes/200"))
    async let third = dispatcher.data(for: server.url("/bytes/300"))
    let sizes = try await [first.body.count, second.body.count, third.body.count]
    await dispatcher.shutDown()
    print(sizes, "and", server.counts().refused, "connections refused")
    #expect(
      printed.text == """
        [100, 200, 300] and 0 connections refused
        """)
  }

  @Test("HeadgateGate")
  func gate() async throws {
    // Each job waits until two run, so that the limit is reached.
    let pairs = Barrier(parties: 2)
    @Sendable func spool(_ job: Int) async throws { try await pairs.wait() }
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 2)))
    let printer = try EndPoint(host: "printer.example", port: 631)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for job in 1...10 {
        group.addTask { try await gate.withPermit(for: printer) { try await spool(job) } }
      }
      try await group.waitForAll()
    }
    print("at most", gate.counts.peak, "jobs ran at a time")
    #expect(
      printed.text == """
        at most 2 jobs ran at a time
        """)
  }

  @Test("HeadgateThreads")
  func threads() async throws {
    func sum() async throws -> Int {
      let numbers = try BlockingQueue<Int>(name: "numbers", capacity: 10)
      let consumer = try ManagedThread.spawn(name: "consumer") {
        var sum = 0
        for number in try numbers.elements { sum += number }
        return sum
      }
      for number in 1...100 { try await numbers.put(number) }
      numbers.close()
      return try await consumer.value()
    }

    print("the sum is", try await sum())
    #expect(
      printed.text == """
        the sum is 5050
        """)
  }

  private struct Broken: Error {}

  private struct Site {
    func load(_ name: String, _ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
      completion("page of \(name)", nil)
    }
  }

  @Test("HeadgateFlow")
  func flow() async throws {
    let site = Site()
    // The slow mirror never answers: it is cancelled.
    @Sendable func load(_ mirror: String) async throws -> String {
      switch mirror {
      case "broken": throw Broken()
      case "slow": try await Latch().wait()
      default: break
      }
      return "page of \(mirror)"
    }
    let mirrors = ["broken", "slow", "good"]
    let page = try await firstToSucceed(mirrors) { mirror in try await load(mirror) }
    let sizes = try await mirrors.mapConcurrently(limit: 2) { mirror in mirror.count }
    print(page, sizes)
    let text = try await awaitCallback { completion in
      site.load("first") { page, error in completion(page, error) }
    }
    #expect(text == "page of first")
    #expect(
      printed.text == """
        page of good [6, 4, 4]
        """)
  }

  @Test("HeadgateCurl")
  func curl() async throws {
    let server = try Origin()
    let url = server.url("/bytes/1")
    var configuration = CurlTransport.Configuration()
    configuration.httpVersion = .http1
    configuration.proxy = CurlProxyRule.none
    let transport = try CurlTransport(configuration: configuration)
    let dispatcher = URLDispatcher(transport: transport)
    let response = try await dispatcher.data(for: url)
    await dispatcher.shutDown()
    print(response.statusCode)
    #expect(
      printed.text == """
        200
        """)
  }

  @Test("HeadgateInstruments")
  func instruments() async throws {
    let server = try Origin()
    let url = server.url("/bytes/1")
    let dispatcher = try URLDispatcher(observers: [MetricsObserver(), TracingObserver()])
    let response = try await dispatcher.data(for: url)
    print(response.statusCode)
    await dispatcher.shutDown()
    #expect(printed.text == "200")
  }

  @Test("HeadgateOrigin")
  func origin() async throws {
    let server = try Origin(script: OriginScript(connectionLimit: 2))
    let dispatcher = try URLDispatcher(perHost: 2)
    for path in ["/bytes/10", "/status/404", "/redirect?to=/bytes/20"] {
      let response = try await dispatcher.data(for: server.url(path))
      print(path, response.statusCode, response.body.count)
    }
    await dispatcher.shutDown()
    print("most connections at a time:", server.counts().peakSockets)
    #expect(
      printed.text == """
        /bytes/10 200 10
        /status/404 404 11
        /redirect?to=/bytes/20 200 20
        most connections at a time: 1
        """)
    server.setScript(
      OriginScript { request in
        request.header("Authorization") == nil ? .text("who are you?", status: 401) : nil
      })
    let other = try URLDispatcher()
    #expect(try await other.data(for: server.url("/bytes/1")).text == "who are you?")
    await other.shutDown()
  }

  @Test("HeadgateTesting")
  func testing() async throws {
    let transport = ScriptedTransport()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    async let first = dispatcher.data(for: "http://example.com/1")
    let exchange = try await transport.next()
    async let second = dispatcher.data(for: "http://example.com/2")
    exchange.respond(200, body: "one")
    try await transport.next().respond(404)
    let statuses = try await [first.statusCode, second.statusCode]
    await dispatcher.shutDown()
    print(statuses, transport.violations)
    #expect(
      printed.text == """
        [200, 404] []
        """)
  }
}
