#if canImport(Glibc)
import Dispatch
import Glibc
import Headgate
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// One limit on sockets for all dispatchers of a gate, as counted by the server.
@Suite struct GateSocketsTests {
  private func limits(_ requests: Int, total: Int? = nil) throws -> GateLimits {
    try GateLimits(endPoint: EndPointLimits(requests: requests), total: total)
  }

  /// Sends a number of requests at once. Returns how many were answered with 200.
  private func ask(_ dispatcher: URLDispatcher, _ url: String, times: Int = 40) async -> Int {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<times {
        group.addTask { (try? await dispatcher.data(for: url))?.statusCode == 200 }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
  }

  @Test("two dispatchers on one gate: idle connections of one make room for the other")
  func twoDispatchers() async throws {
    let origin = try Origin()
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    try await holdAtOnce(4, first, origin)
    for _ in 0..<5 {
      #expect(await ask(first, origin.url("/bytes/100?delay=2")) == 40)
      #expect(await ask(second, origin.url("/bytes/100?delay=2")) == 40)
    }
    #expect(origin.counts().peakSockets == 4)
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }

  @Test("requests of an end-point that end while another one begins leave its place in the transport's table")
  func renewedPlace() async throws {
    // Never answers the handshake of TLS, for which all but the first request wait.
    let silent = try RawServer { $0.waitForEnd() }
    let (origin, url) = (try Origin(), "https://127.0.0.1:\(silent.port)/")
    var configuration = CurlTransport.Configuration()
    // A machine without authorities would begin no handshake.
    configuration.trust = .insecure
    let dispatcher = URLDispatcher(transport: try CurlTransport(configuration: configuration), limits: try limits(6))
    let early = try (0..<2).map { _ in dispatcher.dispatch(try DispatchRequest(url)) { _ in } }
    let (isBusy, mayGoOn) = (Gate(), DispatchSemaphore(value: 0))
    // Keeps the transport's thread busy, so that it takes all commands of the next lines in one turn.
    dispatcher.dispatch(try DispatchRequest(origin.url("/bytes/1"))) { _ in
      isBusy.open()
      _ = mayGoOn.wait(timeout: .now() + .seconds(60))
    }
    try await isBusy.wait()
    for operation in early { operation.cancel() }
    let first = dispatcher.dispatch(try DispatchRequest(url)) { _ in }
    mayGoOn.signal()
    // The transport remembers the place that it used last. This is another one.
    #expect(try await dispatcher.data(for: origin.url("/bytes/1")).statusCode == 200)
    let second = dispatcher.dispatch(try DispatchRequest(url)) { _ in }
    #expect(try await dispatcher.data(for: origin.url("/bytes/1")).statusCode == 200)
    let endPoint = try EndPoint(url)
    #expect(dispatcher.gate.sockets.openCount(at: endPoint) == 1)
    for operation in [first, second] { operation.cancel() }
    await dispatcher.shutDown()
    silent.stop()
    origin.stop()
  }

  @Test("a bare permit counts as one socket: idle connections make room for its holder's own")
  func permitBesideRequests() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let dispatcher = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
    try await holdAtOnce(4, dispatcher, origin)
    for _ in 0..<5 {
      #expect(await ask(dispatcher, origin.url("/bytes/100?delay=2")) == 40)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<12 {
          group.addTask {
            try await dispatcher.gate.withPermit(for: endPoint) {
              #expect(RawRequest.send("/delay/2", port: Int(origin.port)))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(origin.counts().peakSockets == 4)
    await dispatcher.shutDown()
    origin.stop()
  }

  @Test(
    "a disposed shared dispatcher and its successor keep to one limit, even before the old one has closed")
  func disposeShared() async throws {
    let origin = try Origin()
    try await holdAtOnce(6, .shared, origin)
    for _ in 0..<3 {
      #expect(await ask(.shared, origin.url("/bytes/100?delay=2"), times: 12) == 12)
      // The old one's thread, which would close its connections, is busy with this completion.
      let (isDisposed, isOver) = (Gate(), DispatchSemaphore(value: 0))
      URLDispatcher.shared.dispatch(try DispatchRequest(origin.url("/bytes/1"))) { _ in
        URLDispatcher.disposeShared()
        isDisposed.open()
        _ = isOver.wait(timeout: .now() + .milliseconds(300))
      }
      await isDisposed.waitRegardless()
      #expect(await ask(.shared, origin.url("/bytes/100?delay=2"), times: 12) == 12)
      isOver.signal()
    }
    URLDispatcher.disposeShared()
    #expect(origin.counts().peakSockets == 6)
    origin.stop()
  }

  @Test("C11 the total bounds sockets too: idle connections of all loops are closed for others", arguments: [1, 4])
  func totalBoundsSockets(loops: Int) async throws {
    let origin = try Origin(endPoints: 12)
    let dispatcher = URLDispatcher(transport: try CurlTransport(loops: loops), limits: try limits(2, total: 4))
    for number in 0..<60 {
      #expect(await ask(dispatcher, origin.url("/bytes/100", endPoint: number % 12), times: 2) == 2)
      #expect(dispatcher.gate.sockets.openCount <= 4)
      // The server may learn of an end after a beginning elsewhere.
      let limit = Deadline.after(.seconds(60))
      while (0..<12).reduce(0, { $0 + origin.counts(endPoint: $1).sockets }) > 4 {
        try #require(Deadline.now < limit)
        await Task.yield()
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        group.addTask { #expect(await ask(dispatcher, origin.url("/bytes/10?delay=1", endPoint: number)) == 40) }
      }
    }
    await dispatcher.shutDown()
    origin.stop()
  }

  @Test("limits set at the gate, or by another dispatcher, reach every transport: raised ones are used")
  func raisedLimits() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let first = URLDispatcher(transport: try CurlTransport())
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    first.setLimits(try limits(2))
    var request = try DispatchRequest(origin.url("/hold"))
    request.timeout = nil
    for _ in 0..<20 { first.dispatch(request) { _ in } }
    #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(.seconds(60))))
    first.gate.setLimits(try EndPointLimits(requests: 4), for: endPoint)
    #expect(await origin.waitUntil({ $0.requests == 4 }, until: .after(.seconds(60))))
    second.setLimits(try EndPointLimits(requests: 6), for: endPoint)
    #expect(await origin.waitUntil({ $0.requests == 6 }, until: .after(.seconds(60))))
    second.setLimits(nil, for: endPoint)
    second.gate.setLimits(try limits(8))
    #expect(await origin.waitUntil({ $0.requests == 8 }, until: .after(.seconds(60))))
    #expect(origin.counts().peakSockets == 8)
    await second.shutDown(.now)
    await first.shutDown(.now)
    origin.stop()
  }

  @Test("limits lowered at the gate, or by any dispatcher, close idle connections of every transport")
  func loweredLimits() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(8))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    try await holdAtOnce(8, first, origin)
    #expect(origin.counts().sockets == 8)
    first.gate.setLimits(try EndPointLimits(requests: 6), for: endPoint)
    #expect(await origin.waitUntil({ $0.sockets == 6 }, until: .after(.seconds(60))))
    second.setLimits(try EndPointLimits(requests: 4), for: endPoint)
    #expect(await origin.waitUntil({ $0.sockets == 4 }, until: .after(.seconds(60))))
    first.setLimits(try EndPointLimits(requests: 3), for: endPoint)
    #expect(await origin.waitUntil({ $0.sockets == 3 }, until: .after(.seconds(60))))
    first.gate.setLimits(nil, for: endPoint)
    try first.gate.updateLimits { $0.rules[try HostPattern("127.0.0.1")] = try EndPointLimits(requests: 2) }
    #expect(await origin.waitUntil({ $0.sockets == 2 }, until: .after(.seconds(60))))
    first.gate.setLimits(try GateLimits(rules: first.gate.limits.rules, total: 1))
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(.seconds(60))))
    for _ in 0..<20 { #expect(try await first.data(for: origin.url("/")).statusCode == 200) }
    #expect(origin.counts().sockets <= 1)
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }

  @Test("two threads set limits at once: transports obey the limits that the gate reports afterwards")
  func settersAtOnce() async throws {
    let origin = try Origin()
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    let choices = try (1...6).map { try limits($0) }
    for _ in 0..<30 {
      await withTaskGroup(of: Void.self) { group in
        for dispatcher in [first, second] {
          group.addTask { for limits in choices.shuffled() { dispatcher.setLimits(limits) } }
        }
      }
      let most = first.limits.endPoint.connections
      var request = try DispatchRequest(origin.url("/hold"))
      request.timeout = nil
      for _ in 0..<8 { first.dispatch(request) { _ in } }
      #expect(await origin.waitUntil({ $0.requests == most }, until: .after(.seconds(60))))
      first.gate.cancelAll(to: try EndPoint(request.url))
      #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    }
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }

  @Test("failed connection attempts, and a dispatcher that ends, leave no socket counted")
  func nothingIsLeft() async throws {
    let origin = try Origin()
    // Not the port of a server that has stopped: another process may get that port.
    let nowhere = "http://127.0.0.1:1/"
    let gate = EndPointGate(limits: try limits(2, total: 3))
    let dispatcher = URLDispatcher(transport: try CurlTransport(), sharing: gate)
    for _ in 0..<5 {
      #expect(await ask(dispatcher, nowhere, times: 8) == 0)
      #expect(await ask(dispatcher, origin.url("/close"), times: 8) == 8)
    }
    #expect(gate.sockets.openCount(at: try EndPoint(nowhere)) == 0)
    #expect(await ask(dispatcher, origin.url("/"), times: 8) == 8)
    try await holdAtOnce(2, dispatcher, origin)
    #expect(gate.sockets.openCount == 2)
    await dispatcher.shutDown()
    #expect(gate.sockets.openCount == 0)
    origin.stop()
  }

  @Test("limits change from many threads while 2,000 requests run: the server never counts more than allowed")
  func storm() async throws {
    let origin = try Origin(endPoints: 2)
    let endPoints = try origin.ports.map { try EndPoint(host: "127.0.0.1", port: Int($0)) }
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(6))
    let second = URLDispatcher(transport: try CurlTransport(loops: 2), sharing: first.gate)
    let gate = first.gate
    let results = LockedBox<[String: Int]>([:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<2_000 {
        let dispatcher = number % 3 == 0 ? second : first
        group.addTask {
          let result = await Self.play(number, dispatcher, origin)
          results.withLock { $0[result, default: 0] += 1 }
        }
      }
      for index in 0..<2 {
        group.addTask {
          for _ in 0..<60 {
            try await gate.withPermit(for: endPoints[index]) {
              #expect(RawRequest.send("/delay/1", port: Int(origin.ports[index])))
            }
          }
        }
      }
      // However fast the others are answered, there are requests until the limits have changed for the last time.
      let isOver = Gate()
      defer { isOver.open() }
      for number in 0..<8 {
        let (dispatcher, url) = (
          number % 4 < 2 ? first : second, origin.url("/bytes/500?delay=1", endPoint: number % 2)
        )
        group.addTask { while !isOver.isOpen { _ = try await dispatcher.data(for: url) } }
      }
      let pattern = try HostPattern("127.0.0.1")
      let steps: [(Int, (EndPointLimits) throws -> Void)] = [
        (3, { gate.setLimits(try GateLimits(endPoint: $0)) }),
        (5, { first.setLimits(try GateLimits(endPoint: $0)) }),
        (2, { limits in for endPoint in endPoints { second.setLimits(limits, for: endPoint) } }),
        (4, { limits in for endPoint in endPoints { gate.setLimits(limits, for: endPoint) } }),
        (1, { second.setLimits(try GateLimits(endPoint: $0)) }),
        (6, { limits in first.updateLimits { $0.rules[pattern] = limits } }),
        (2, { limits in gate.updateLimits { $0.rules[pattern] = limits } }),
        (3, { limits in for endPoint in endPoints { first.setLimits(limits, for: endPoint) } }),
        (3, { _ in second.updateLimits { for endPoint in endPoints { $0.overrides[endPoint]?.long = 1 } } }),
        (1, { gate.setLimits(try GateLimits(endPoint: $0)) }),
        (4, { second.setLimits(try GateLimits(endPoint: $0, total: 6)) }),
      ]
      for (most, change) in steps {
        try change(try EndPointLimits(requests: most))
        for index in 0..<2 {
          // The server may not have seen all sockets that were leased before. The gate counts those.
          let endPoint = endPoints[index]
          let isKept: @Sendable (OriginCounts) -> Bool = {
            $0.sockets <= most && gate.sockets.openCount(at: endPoint) <= most
          }
          #expect(
            await origin.waitUntil(isKept, endPoint: index, until: .after(.seconds(60))), "\(most) at \(index)")
          // A socket that was opened and closed under an earlier limit may still wait to be accepted. The server accepts
          // them in order: those before this one are counted then, with their ends.
          #expect(RawRequest.send("/bytes/1", port: Int(origin.ports[index])))
          #expect(
            await origin.waitUntil(isKept, endPoint: index, until: .after(.seconds(60))), "\(most) at \(index)")
        }
        origin.resetCounts()
        for index in 0..<2 {
          #expect(await origin.waitUntil({ $0.served >= 30 }, endPoint: index, until: .after(.seconds(60))))
          let counts = origin.counts(endPoint: index)
          #expect(counts.peakSockets <= most && counts.peakRequests <= most, "\(most) at \(index): \(counts)")
        }
      }
      isOver.open()
      try await group.waitForAll()
    }
    let counts = results.withLock { $0 }
    #expect(counts["timedOut"] == 40 && counts["200"] == 1_560 && counts["cancelled"] == 400, "\(counts)")
    await second.shutDown()
    await first.shutDown()
    #expect(gate.counts.running == 0 && gate.counts.waiting == 0 && gate.sockets.openCount == 0)
    origin.stop()
  }

  /// Sends one request of many kinds. Returns how it ended.
  private static func play(_ number: Int, _ dispatcher: URLDispatcher, _ origin: Origin) async -> String {
    let here = number / 7 % 2
    let there = origin.url("/bytes/300", endPoint: 1 - here)
    do {
      switch number % 50 {
      case 0:
        var request = try DispatchRequest(origin.url("/silence", endPoint: here))
        request.timeout = .milliseconds(30)
        return "\(try await dispatcher.data(for: request).statusCode)"
      case 1..<6:
        let task = Task { try await dispatcher.data(for: origin.url("/bytes/1000?delay=5", endPoint: here)) }
        task.cancel()
        _ = try? await task.value
        return "cancelled"
      case 6..<11:
        let response = try await dispatcher.stream(for: DispatchRequest(origin.url("/bytes/9000000", endPoint: here)))
        response.body.cancel()
        return "cancelled"
      case 11..<20:
        return "\(try await dispatcher.data(for: origin.url("/redirect?to=\(there)", endPoint: here)).statusCode)"
      case 20..<25: return "\(try await dispatcher.data(for: origin.url("/close", endPoint: here)).statusCode)"
      default: return "\(try await dispatcher.data(for: origin.url("/bytes/500?delay=1", endPoint: here)).statusCode)"
      }
    } catch {
      return error.code == .timedOut ? "timedOut" : "\(error)"
    }
  }
}

/// Sends a request over a separate socket within this call.
enum RawRequest {
  /// True if it was answered with 200.
  static func send(_ path: String, port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    // Every socket address may be read as a `sockaddr`; the size is given beside it.
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    guard connected == 0, Glibc.send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else {
      return false
    }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      if count <= 0 { break }
      answer += piece.prefix(count)
    }
    return answer.starts(with: Array("HTTP/1.1 200".utf8))
  }
}
#endif
