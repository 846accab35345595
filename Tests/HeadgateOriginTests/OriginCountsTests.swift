import HeadgateOrigin
import HeadgateThreads
import Testing

/// A bound that no test reaches unless it fails.
let generous = Duration.seconds(30)

@Suite struct OriginCountsTests {
  @Test func `Counts open connections and their peak`() async throws {
    let origin = try Origin()
    let clients = try (0..<3).map { _ in try RawClient(port: origin.port) }
    for client in clients { try client.request("/hold") }
    #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(generous)))
    #expect(origin.counts().sockets == 3)

    origin.release()
    for client in clients { #expect(try client.answer().text == "released\n") }
    #expect(await origin.waitUntil({ $0.served == 3 }, until: .after(generous)))
    for client in clients { client.disconnect() }
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(generous)))

    let counts = origin.counts()
    #expect(counts.peakSockets == 3)
    #expect(counts.peakRequests == 3)
    #expect(counts.accepted == 3)
    #expect(counts.received == 3)
    #expect(counts.requests == 0)
    #expect(counts.aborted == 0)
    #expect(counts.refused == 0)
  }

  @Test func `A reset of the counts keeps the open connections`() async throws {
    let origin = try Origin()
    let first = try RawClient(port: origin.port)
    let second = try RawClient(port: origin.port)
    try first.request("/hold")
    try second.request("/hold")
    #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(generous)))
    second.disconnect()
    #expect(await origin.waitUntil({ $0.sockets == 1 && $0.aborted == 1 }, until: .after(generous)))

    origin.resetCounts()
    var expected = OriginCounts()
    (expected.sockets, expected.peakSockets, expected.requests, expected.peakRequests) = (1, 1, 1, 1)
    #expect(origin.counts() == expected)
    // An optimized build releases unused objects.
    withExtendedLifetime(first) {}
  }

  @Test func `Connections over the limit are left unanswered and take no place`() async throws {
    let origin = try Origin(script: OriginScript(connectionLimit: 1))
    let served = try RawClient(port: origin.port)
    try served.request("/")
    #expect(try served.answer().status == 200)
    let silent = try RawClient(port: origin.port)
    try silent.request("/")
    #expect(await origin.waitUntil({ $0.refused == 1 && $0.sockets == 2 }, until: .after(generous)))

    served.disconnect()
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(generous)))
    // The silent one is still open, and the next is served nevertheless.
    let next = try RawClient(port: origin.port)
    try next.request("/")
    #expect(try next.answer().status == 200)
    silent.disconnect()
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(generous)))

    let counts = origin.counts()
    #expect(counts.received == 2)
    #expect(counts.aborted == 0)
    #expect(counts.accepted == 3)
    #expect(counts.peakSockets == 2)
    withExtendedLifetime(next) {}
  }

  @Test func `A client that closes one socket before it opens another never counts with two`() async throws {
    let origin = try Origin()
    for _ in 0..<2_000 { try RawClient(port: origin.port).disconnect() }
    #expect(await origin.waitUntil({ $0.accepted == 2_000 && $0.sockets == 0 }, until: .after(generous)))
    #expect(origin.counts().peakSockets == 1)
  }

  @Test func `A client that abandons a request and repeats it never counts with two`() async throws {
    let origin = try Origin()
    for _ in 0..<2_000 {
      let client = try RawClient(port: origin.port)
      try client.request("/silence")
      client.disconnect()
    }
    #expect(await origin.waitUntil({ $0.accepted == 2_000 && $0.sockets == 0 }, until: .after(generous)))
    let counts = origin.counts()
    #expect(counts.peakSockets == 1)
    #expect(counts.peakRequests == 1)
    #expect(counts.received == 2_000)
    #expect(counts.aborted == 2_000)
  }

  @Test func `Many clients that each close before they open never exceed their number`() async throws {
    let origin = try Origin()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for turn in 0..<200 {
            let client = try RawClient(port: origin.port)
            try client.request("/")
            if turn % 2 == 0 { _ = try client.answer() }
            client.disconnect()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await origin.waitUntil({ $0.accepted == 1_600 && $0.sockets == 0 }, until: .after(generous)))
    #expect(origin.counts().peakSockets <= 8)
  }

  @Test func `End-points are counted separately`() async throws {
    let origin = try Origin(endPoints: 2)
    #expect(Set(origin.ports).count == 2)
    let client = try RawClient(port: origin.ports[1])
    try client.request("/")
    #expect(try client.answer().status == 200)
    #expect(await origin.waitUntil({ $0.served == 1 }, endPoint: 1, until: .after(generous)))
    #expect(origin.counts(endPoint: 0) == OriginCounts())
    #expect(origin.counts(endPoint: 2) == OriginCounts())
  }

  @Test func `Answers that break off on purpose are neither served nor aborted`() async throws {
    let origin = try Origin()
    for path in ["/reset", "/short", "/garbage"] {
      let client = try RawClient(port: origin.port)
      try client.request(path)
      if path != "/reset" { _ = try client.remainder() }
      #expect(await origin.waitUntil({ $0.received == 1 && $0.requests == 0 }, until: .after(generous)))
      client.disconnect()
      #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(generous)))
      #expect(origin.counts().served == 0)
      #expect(origin.counts().aborted == 0)
      origin.resetCounts()
    }
  }
}
