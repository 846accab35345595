import HeadgateOrigin
import HeadgateThreads
import Testing

@Suite struct OriginLifeTests {
  @Test func `Stops while connections are open`() async throws {
    let origin = try Origin(endPoints: 2)
    let clients = try (0..<50).map { try RawClient(port: origin.ports[$0 % 2]) }
    for (index, client) in clients.enumerated() {
      try client.request(
        ["/hold", "/stream?chunks=0&every=1", "/delay/60000", "/silence", "/bytes/1000000000"][index % 5]
      )
    }
    for endPoint in 0..<2 {
      #expect(await origin.waitUntil({ $0.requests == 25 }, endPoint: endPoint, until: .after(generous)))
    }
    origin.stop()
    for endPoint in 0..<2 {
      #expect(origin.counts(endPoint: endPoint).sockets == 0)
      #expect(origin.counts(endPoint: endPoint).requests == 0)
    }
    // The ports are free again.
    #expect(throws: Never.self) { try Origin(ports: origin.ports) }
    origin.stop()
    origin.release()
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .distantFuture) == false)
    // An optimized build releases unused objects.
    withExtendedLifetime(clients) {}
  }

  @Test func `Ends when it is released`() throws {
    var origin: Origin? = try Origin()
    let port = try #require(origin?.port)
    let client = try RawClient(port: port)
    try client.request("/")
    #expect(try client.answer().status == 200)
    origin = nil
    #expect(try client.remainder().isEmpty)
  }

  @Test func `Can be released by its own thread`() async throws {
    let origin = try Origin()
    let client = try RawClient(port: origin.port)
    // The hook retains the origin, and releasing it on the origin's thread must not make that thread wait for itself.
    origin.setScript(
      OriginScript(handler: { _ in
        origin.stop()
        origin.setScript(OriginScript())
        return nil
      })
    )
    try client.request("/")
    #expect(try client.answer().status == 200)
    #expect(try client.remainder().isEmpty)
  }

  @Test func `A wait ends at its deadline`() async throws {
    let origin = try Origin()
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .distantPast) == false)
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(.milliseconds(20))) == false)
    #expect(await origin.waitUntil({ $0.sockets == 1 }, endPoint: 7, until: .after(.milliseconds(1))) == false)
  }

  @Test func `A wait ends with its task or its origin`() async throws {
    let origin = try Origin()
    let cancelled = Task { await origin.waitUntil({ $0.sockets == 1 }, until: .distantFuture) }
    cancelled.cancel()
    #expect(await cancelled.value == false)
    let stopped = Task { await origin.waitUntil({ $0.sockets == 1 }, until: .distantFuture) }
    origin.stop()
    #expect(await stopped.value == false)
  }

  @Test func `Refuses invalid arguments`() throws {
    #expect(throws: OriginError.self) { try Origin(endPoints: 0) }
    let origin = try Origin()
    let failure = #expect(throws: OriginError.self) { try Origin(ports: [0, origin.port]) }
    #expect(failure?.code == .listening)
    #expect(failure?.port == origin.port)
  }

  @Test func `Forms URLs`() throws {
    let origin = try Origin(endPoints: 2)
    #expect(origin.url() == "http://127.0.0.1:\(origin.port)/")
    #expect(origin.url("a?b", endPoint: 1) == "http://127.0.0.1:\(origin.ports[1])/a?b")
    #expect(origin.url("/", endPoint: 2) == "http://127.0.0.1:0/")
  }
}
