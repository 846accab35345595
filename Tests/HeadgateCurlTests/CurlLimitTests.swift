import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The limit, as counted by the server.
@Suite struct CurlLimitTests {
  private func dispatcher(_ requests: Int, long: Int? = nil) throws -> URLDispatcher {
    URLDispatcher(
      transport: try CurlTransport(),
      limits: try GateLimits(endPoint: EndPointLimits(requests: requests, long: long)))
  }

  @Test("D130 the server never sees more sockets or requests than the limit, with redirects between end-points")
  func neverMore() async throws {
    let origin = try Origin(endPoints: 3)
    let dispatcher = try dispatcher(4)
    let statuses = await withTaskGroup(of: Int?.self) { group in
      for number in 0..<1_200 {
        let here = number % 3
        let there = origin.url("/bytes/\(number % 5 * 100)", endPoint: (here + 1) % 3)
        let path =
          switch number % 5 {
          case 0: "/redirect?to=\(there)"
          case 1: "/status/404"
          case 2: "/redirect?size=100000&to=\(there)"
          case 3: "/close"
          default: "/bytes/2000?delay=4"
          }
        group.addTask { try? await dispatcher.data(for: origin.url(path, endPoint: here)).statusCode }
      }
      return await group.reduce(into: [Int?]()) { $0.append($1) }
    }
    #expect(statuses.filter { $0 == 200 }.count == 960)
    #expect(statuses.filter { $0 == 404 }.count == 240)
    for index in 0..<3 {
      let counts = origin.counts(endPoint: index)
      #expect(counts.peakSockets <= 4)
      #expect(counts.peakRequests <= 4)
      #expect(counts.peakRequests >= 2)
    }
    #expect(dispatcher.gate.counts.running == 0)
    await dispatcher.shutDown(.drain)
    origin.stop()
  }

  @Test("a server that serves four and never answers a fifth causes no failure under a limit of four")
  func classicProblem() async throws {
    let origin = try Origin(script: OriginScript(connectionLimit: 4))
    let dispatcher = try dispatcher(4)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask {
          var request = try? DispatchRequest(origin.url("/delay/5"))
          request?.timeout = .seconds(60)
          guard let request else { return }
          let response = try? await dispatcher.data(for: request)
          #expect(response?.statusCode == 200)
        }
      }
    }
    #expect(origin.counts().refused == 0)
    // The server notes the last one a moment after the client has it.
    #expect(await origin.waitUntil({ $0.served == 200 }, until: .after(.seconds(60))))
    await dispatcher.shutDown(.drain)
  }

  @Test("D73 names of one machine are separate end-points; a total covers all of them")
  func oneMachine() async throws {
    let origin = try Origin()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 2), total: 3)
    let dispatcher = URLDispatcher(transport: try CurlTransport(), limits: limits)
    for number in 0..<8 {
      // libcurl itself (7.85 and later) resolves all names below localhost to this machine (RFC 6761, section 6.3).
      let url = origin.url("/hold").replacing("127.0.0.1", with: "n\(number % 4).localhost")
      dispatcher.dispatch(try DispatchRequest(url)) { _ in }
    }
    #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
    let counts = dispatcher.gate.counts
    #expect((counts.running, counts.waiting, counts.endPoints) == (3, 5, 4))
    await dispatcher.shutDown(.now)
    #expect(origin.counts().peakRequests == 3)
    origin.stop()
  }

  @Test("the same server refuses a client with a limit of eight: the count is sensitive")
  func theCountCanTell() async throws {
    let origin = try Origin(script: OriginScript(connectionLimit: 4))
    let dispatcher = try dispatcher(8)
    var request = try DispatchRequest(origin.url("/hold"))
    request.timeout = nil
    let ended = LockedBox(0)
    for _ in 0..<8 { dispatcher.dispatch(request) { _ in ended.withLock { $0 += 1 } } }
    #expect(await origin.waitUntil({ $0.refused == 4 }, until: .after(.seconds(60))))
    await dispatcher.shutDown(.now)
    #expect(ended.withLock { $0 } == 8)
  }

  @Test("D27 a thousand requests cancelled in the middle of their bodies leave no socket and no permit behind")
  func cancelMidBody() async throws {
    let origin = try Origin()
    let dispatcher = try dispatcher(4)
    for _ in 0..<250 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            let request = try? DispatchRequest(origin.url("/bytes/50000000"))
            guard let request, let response = try? await dispatcher.stream(for: request) else {
              Issue.record("no response")
              return
            }
            var iterator = response.body.makeAsyncIterator()
            _ = try? await iterator.next()
          }
        }
      }
    }
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    #expect(origin.counts().accepted == 1_000)
    #expect(origin.counts().peakSockets <= 4)
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("many streams and the short requests beside them keep to one limit on sockets")
  func crowdOfStreams() async throws {
    let origin = try Origin()
    let dispatcher = try dispatcher(100, long: 96)
    func streams(_ path: String, _ policy: LongRequestPolicy) async throws -> [StreamedResponse] {
      var streams: [StreamedResponse] = []
      for _ in 0..<96 {
        let request = try DispatchRequest(origin.url(path))
        streams.append(try await dispatcher.stream(for: request, lane: .long, policy: policy))
      }
      return streams
    }
    func short(_ count: Int) async throws -> Int {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count {
          group.addTask { try await dispatcher.data(for: origin.url("/bytes/10?delay=1")).statusCode }
        }
        return try await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
      }
    }
    let endless = try await streams("/stream?chunks=0&every=3600000&size=10", .throw)
    #expect(try await short(200) == 200)
    #expect(origin.counts().peakRequests > 96)
    #expect(origin.counts().peakSockets <= 100)
    for stream in endless { stream.body.cancel() }
    // Cancelled requests may hold their permits for a moment more, and the second group waits for them. Connections of
    // ended requests become idle, and are closed for others.
    for stream in try await streams("/stream?chunks=2&every=1&size=10", .enqueue) {
      var bytes = 0
      for try await chunk in stream.body { bytes += chunk.count }
      #expect(bytes == 20)
    }
    #expect(try await short(300) == 300)
    #expect(origin.counts().peakSockets <= 100)
    await dispatcher.shutDown(.drain)
    origin.stop()
  }

  @Test("D63 streams at the limit of their lane leave short requests their permits")
  func shortBesideStreams() async throws {
    let origin = try Origin()
    let dispatcher = try dispatcher(4, long: 2)
    var streams: [StreamedResponse] = []
    for _ in 0..<2 {
      let request = try DispatchRequest(origin.url("/stream?chunks=0&every=20&size=10"))
      streams.append(try await dispatcher.stream(for: request, lane: .long))
    }
    for _ in 0..<50 { #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200) }
    #expect(origin.counts().peakSockets <= 4)
    var iterator = streams[0].body.makeAsyncIterator()
    for _ in 0..<5 { #expect(try await iterator.next() != nil) }
    for stream in streams { stream.body.cancel() }
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.gate.counts.running == 0)
  }
}
