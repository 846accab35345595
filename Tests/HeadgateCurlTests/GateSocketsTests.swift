#if canImport(Glibc)
import Glibc
import Headgate
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// One limit on sockets for all that share a gate, as counted by the server.
@Suite struct GateSocketsTests {
  private func limits(_ requests: Int, total: Int? = nil) throws -> GateLimits {
    try GateLimits(endPoint: EndPointLimits(requests: requests), total: total)
  }

  /// So many requests at once; returns how many were answered with 200.
  private func ask(_ dispatcher: URLDispatcher, _ url: String, times: Int = 40) async -> Int {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<times {
        group.addTask { (try? await dispatcher.data(for: url))?.statusCode == 200 }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
  }

  @Test("two dispatchers on one gate: idle connections of the one make room for the other")
  func twoDispatchers() async throws {
    let origin = try Origin()
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    for _ in 0..<5 {
      #expect(await ask(first, origin.url("/bytes/100?delay=2")) == 40)
      #expect(await ask(second, origin.url("/bytes/100?delay=2")) == 40)
    }
    #expect(origin.counts().peakSockets == 4)
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }

  @Test("a bare permit counts as one socket: idle connections make room for its holder's own")
  func permitBesideRequests() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let dispatcher = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
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

  @Test("a shared dispatcher that was disposed of and the next one keep to one limit")
  func disposeShared() async throws {
    let origin = try Origin()
    for _ in 0..<10 {
      #expect(await ask(.shared, origin.url("/bytes/100?delay=2"), times: 12) == 12)
      let old = URLDispatcher.shared
      for _ in 0..<6 { old.dispatchShort(try DispatchRequest(origin.url("/hold"))) { _ in } }
      #expect(await origin.waitUntil({ $0.requests == 6 }, until: .after(.seconds(60))))
      URLDispatcher.disposeShared()
    }
    #expect(await ask(.shared, origin.url("/bytes/100?delay=2"), times: 12) == 12)
    URLDispatcher.disposeShared()
    #expect(origin.counts().peakSockets == 6)
    #expect(origin.counts().peakRequests == 6)
    origin.stop()
  }

  @Test("the total bounds sockets too: idle connections of all loops give way", arguments: [1, 4])
  func totalBoundsSockets(loops: Int) async throws {
    let origin = try Origin(endPoints: 12)
    let dispatcher = URLDispatcher(transport: try CurlTransport(loops: loops), limits: try limits(2, total: 4))
    for number in 0..<60 {
      #expect(await ask(dispatcher, origin.url("/bytes/100", endPoint: number % 12), times: 2) == 2)
      let open = (0..<12).reduce(0) { $0 + origin.counts(endPoint: $1).sockets }
      #expect(open <= 4)
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        group.addTask { #expect(await ask(dispatcher, origin.url("/bytes/10?delay=1", endPoint: number)) == 40) }
      }
    }
    await dispatcher.shutDown()
    origin.stop()
  }

  @Test("limits that the gate, or another dispatcher, is given reach every transport: raised ones are used")
  func raisedLimits() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let first = URLDispatcher(transport: try CurlTransport())
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    first.limits = try limits(2)
    var request = try DispatchRequest(origin.url("/hold"))
    request.timeout = nil
    for _ in 0..<20 { first.dispatchShort(request) { _ in } }
    #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(.seconds(60))))
    first.gate.setLimits(try EndPointLimits(requests: 4), for: endPoint)
    #expect(await origin.waitUntil({ $0.requests == 4 }, until: .after(.seconds(60))))
    second.setLimits(try EndPointLimits(requests: 6), for: endPoint)
    #expect(await origin.waitUntil({ $0.requests == 6 }, until: .after(.seconds(60))))
    second.setLimits(nil, for: endPoint)
    second.gate.limits = try limits(8)
    #expect(await origin.waitUntil({ $0.requests == 8 }, until: .after(.seconds(60))))
    #expect(origin.counts().peakSockets == 8)
    await second.shutDown(.now)
    await first.shutDown(.now)
    origin.stop()
  }

  @Test("limits that the gate, or another dispatcher, lowers close idle connections of every transport")
  func loweredLimits() async throws {
    let origin = try Origin()
    let endPoint = try EndPoint(host: "127.0.0.1", port: Int(origin.port))
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(8))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    #expect(await ask(first, origin.url("/bytes/100?delay=5")) == 40)
    #expect(origin.counts().sockets == 8)
    first.gate.setLimits(try EndPointLimits(requests: 6), for: endPoint)
    #expect(await origin.waitUntil({ $0.sockets == 6 }, until: .after(.seconds(20))))
    second.setLimits(try EndPointLimits(requests: 4), for: endPoint)
    #expect(await origin.waitUntil({ $0.sockets == 4 }, until: .after(.seconds(20))))
    first.gate.setLimits(nil, for: endPoint)
    first.gate.limits.rules[try HostPattern("127.0.0.1")] = try EndPointLimits(requests: 2)
    #expect(await origin.waitUntil({ $0.sockets == 2 }, until: .after(.seconds(20))))
    first.gate.limits = try GateLimits(rules: first.gate.limits.rules, total: 1)
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(.seconds(20))))
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }

  @Test("two threads set limits at once: what transports obey is what the gate says afterwards")
  func settersAtOnce() async throws {
    let origin = try Origin()
    let first = URLDispatcher(transport: try CurlTransport(), limits: try limits(4))
    let second = URLDispatcher(transport: try CurlTransport(), sharing: first.gate)
    let choices = try (1...6).map { try limits($0) }
    for _ in 0..<30 {
      await withTaskGroup(of: Void.self) { group in
        for dispatcher in [first, second] {
          group.addTask { for limits in choices.shuffled() { dispatcher.limits = limits } }
        }
      }
      let most = first.limits.endPoint.connections
      var request = try DispatchRequest(origin.url("/hold"))
      request.timeout = nil
      for _ in 0..<8 { first.dispatchShort(request) { _ in } }
      #expect(await origin.waitUntil({ $0.requests == most }, until: .after(.seconds(20))))
      first.gate.cancelAll(to: try EndPoint(request.url))
      #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    }
    await second.shutDown()
    await first.shutDown()
    origin.stop()
  }
}

/// A request over a socket of its own, sent and answered while the call lasts.
enum RawRequest {
  /// True: it was answered with 200.
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
