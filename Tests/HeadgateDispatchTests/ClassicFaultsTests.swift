import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Faults of the classic dispatcher in waiting, cancelling and counting, each by its name.
@Suite struct ClassicFaultsTests {
  @Test("Classic fault, D14 the lost wake-up: synchronous requests of eight threads through one permit all return")
  func lostWakeUp() async throws {
    let bench = try Bench(requests: 1, transport: ScriptedTransport { $0.respond(body: "x") })
    let request = try bench.request()
    let served = Outcomes<Int>()
    let threads = try (0..<8).map { _ in
      try WorkerThread(name: "caller") {
        for _ in 0..<100 {
          if let response = try? bench.dispatcher.dispatchSynchronously(request) { served.add(response.body.count) }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(served.count == 800)
    #expect(bench.transport.peak(at: request.endPoint) == 1)
    #expect(bench.isClean())
  }

  @Test(
    "Classic fault, D15 the shared condition: a permit released at one end-point wakes the thread that waits for it")
  func sharedCondition() async throws {
    let bench = try Bench(requests: 1)
    let listener = Listener()
    let hosts = ["a", "b"]
    for host in hosts { bench.dispatcher.dispatchShort(try bench.request(host: host), delegate: listener) }
    let first = [try await bench.transport.next(), try await bench.transport.next()]
    let requests = try hosts.map { try bench.request("/sync", host: $0) }
    async let atA = onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(requests[0]) }
    async let atB = onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(requests[1]) }
    while bench.counts.waiting < 2 { await Task.yield() }
    first[1].respond()
    let next = try await bench.transport.next()
    #expect(next.request.url == "http://b/sync")
    #expect(bench.counts.waiting == 1)
    next.respond(204)
    #expect(try await atB.get().statusCode == 204)
    first[0].respond()
    try await bench.transport.next().respond(205)
    #expect(try await atA.get().statusCode == 205)
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("Classic fault, D22 D31 the cancel without effect: a waiting request is cancelled at once, and never sent")
  func cancelOfQueued() async throws {
    let bench = try Bench(requests: 1)
    let (first, second, third) = (Listener(), Listener(), Listener())
    bench.dispatcher.dispatchShort(try bench.request("/1"), delegate: first)
    let operation = bench.dispatcher.dispatchShort(try bench.request("/2"), delegate: second)
    bench.dispatcher.dispatchShort(try bench.request("/3"), delegate: third)
    operation.cancel()
    #expect(operation.state == .cancelled)
    #expect((operation.error?.code, operation.error?.phase) == (.cancelled, .waiting))
    #expect(bench.counts.waiting == 1)
    await second.calls.wait(for: 1)
    #expect(second.heard == ["cancelled"])
    try await bench.transport.next().respond()
    let next = try await bench.transport.next()
    #expect(next.request.url == "http://a/3")
    next.respond()
    await bench.dispatcher.shutDown(.drain)
    #expect([first, third].map(\.heard) == Array(repeating: ["response 200", "finished"], count: 2))
    #expect(bench.isClean())
  }

  @Test(
    "Classic fault, D01 the leaked permit: a transport that fails inside its start returns short and long places")
  func leakedPermit() async throws {
    let transport = ScriptedTransport { $0.end(DispatchError(.transportFailed, phase: .connecting)) }
    let bench = try Bench(requests: 2, long: 1, transport: transport)
    let (request, listener) = (try bench.request(), Listener())
    for _ in 0..<10 {
      let operation = try bench.dispatcher.dispatchLong(request, delegate: listener)
      #expect(operation.error?.code == .transportFailed)
      bench.dispatcher.dispatchShort(request, delegate: listener)
    }
    #expect(bench.dispatcher.gate.runningLongRequests(at: request.endPoint) == 0)
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard == Array(repeating: "failed transport_failed", count: 20))
    #expect(bench.isClean())
  }

  @Test("Classic fault, D49 the bypassed queue: a synchronous request waits behind earlier ones")
  func synchronousOvertakes() async throws {
    let bench = try Bench(requests: 1)
    let listener = Listener()
    for path in ["/1", "/2"] { bench.dispatcher.dispatchShort(try bench.request(path), delegate: listener) }
    let request = try bench.request("/3")
    async let third = onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(request) }
    while bench.counts.waiting < 2 { await Task.yield() }
    bench.dispatcher.dispatchShort(try bench.request("/4"), delegate: listener)
    var order: [String] = []
    for _ in 0..<4 {
      let exchange = try await bench.transport.next()
      order.append(exchange.request.url)
      exchange.respond()
    }
    #expect(order == (1...4).map { "http://a/\($0)" })
    _ = try await third
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("Classic fault, D20 the wait that looked once: a synchronous caller continues to wait after a spurious wake-up")
  func oneShotWait() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request()
    let hasEnded = LockedBox(false)
    let thread = try ManagedThread.spawn(name: "caller") { () throws(DispatchError) in
      let response = try bench.dispatcher.dispatchSynchronously(request)
      hasEnded.withLock { $0 = true }
      return response.statusCode
    }
    let exchange = try await bench.transport.next()
    for _ in 0..<1_000 { thread.unpark() }
    #expect(!hasEnded.withLock { $0 })
    exchange.respond(204)
    #expect(try await thread.value() == 204)
    #expect(bench.isClean())
  }

  @Test("Classic fault, D06 the setter without a wake-up: threads that set limits and submit at once lose no request")
  func setterRaces() async throws {
    let bench = try Bench(requests: 4, long: 1, transport: ScriptedTransport { $0.respond() })
    let (request, listener) = (try bench.request(), Listener())
    let setters = try (0..<2).map { seed in
      try WorkerThread(name: "setter") {
        for number in 0..<200 { bench.dispatcher.updateLimits { $0.endPoint.long = 1 + (number + seed) % 3 } }
      }
    }
    let submitters = try (0..<2).map { _ in
      try WorkerThread(name: "submitter") {
        for _ in 0..<200 { _ = try? bench.dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue) }
      }
    }
    for thread in setters + submitters { thread.join() }
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard.filter { $0 == "finished" }.count == 400)
    #expect((1...3).contains(bench.dispatcher.limits.endPoint.long))
    #expect(bench.isClean())
  }

  @Test("Classic fault, D66 D67 D69 the key of many spellings: one end-point has one lane in every spelling")
  func spellings() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let listener = Listener()
    let groups = [
      ["http://Example.COM/", "HTTP://example.com:80/x", "http://example.com./"],
      ["https://example.com/", "HTTPS://example.com:443/"],
      ["http://[::1]:8080/", "http://[0:0:0:0:0:0:0:1]:8080/"],
    ]
    for group in groups {
      for (number, url) in group.enumerated() {
        let operation = bench.dispatcher.tryDispatchLong(try DispatchRequest(url), delegate: listener)
        #expect((operation != nil) == (number == 0), "\(url)")
        #expect(try bench.dispatcher.gate.runningLongRequests(at: EndPoint(url)) == 1)
        #expect(try !bench.dispatcher.gate.isLongRequestAllowed(at: EndPoint(url)))
      }
    }
    #expect(throws: EndPointError.self) {
      try bench.dispatcher.gate.isLongRequestAllowed(at: EndPoint("gopher://example.com/"))
    }
    #expect(bench.counts.endPoints == groups.count)
    await bench.dispatcher.shutDown(.now)
  }

  @Test("Classic fault, D75 the maps that only grew: end-points that delegates used once are forgotten")
  func neverPruned() async throws {
    let bench = try Bench(total: 10_000, transport: ScriptedTransport { $0.respond() })
    let listener = Listener()
    for number in 0..<3_000 {
      bench.dispatcher.dispatchShort(try bench.request(host: "h\(number)"), delegate: listener)
    }
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.calls.count == 6_000)
    #expect(bench.counts.endPoints == 0)
    #expect(bench.isClean())
  }

  @Test("Classic fault, D119 the invalid session: after the end every call fails with an error, and none traps")
  func afterDispose() async throws {
    let bench = try Bench()
    let (request, listener) = (try bench.request(), Listener())
    bench.dispatcher.dispose()
    let operation = bench.dispatcher.dispatchShort(request, delegate: listener)
    #expect(operation.error?.code == .shutDown)
    await listener.calls.wait(for: 1)
    #expect(listener.heard == ["failed shut_down"])
    #expect(throws: DispatchError.self) { try bench.dispatcher.dispatchLong(request, delegate: listener) }
    #expect(bench.dispatcher.tryDispatchLong(request, delegate: listener) == nil)
    let failed = try bench.dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue)
    #expect(failed.error?.code == .shutDown)
    let result = try await onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(request) }
    #expect(result.code == .shutDown)
    #expect(!operation.moveToLong())
    await listener.calls.wait(for: 2)
    #expect(bench.isClean())
  }
}
