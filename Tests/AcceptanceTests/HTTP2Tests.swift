import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// HTTP/2 by ALPN, against nginx, which counts connections; the origin behind it counts requests.
  @Suite struct HTTP2Tests {
    private typealias Outcome = OneShot<Result<DispatchResponse, DispatchError>>

    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      try folder.write(Array(repeating: UInt8(ascii: "x"), count: 4_000_000), to: "files/large")
      origin = try Origin()
    }

    /// One port with TLS, which offers HTTP/2 unless disabled. `/large` is a file, the rest comes from the origin.
    private func startNginx(_ directives: String = "", http2: Bool = true) async throws -> (Nginx, Certificates) {
      let certificates = try await Certificates(in: folder)
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]) ssl\(http2 ? " http2" : "");
          \(certificates.directives("here"))
          \(directives)
          location /large { }
          location / { proxy_pass http://127.0.0.1:\(origin.port); proxy_buffering off; }
        }
        """
      }
      return (nginx, certificates)
    }

    private func transport(
      _ certificates: Certificates, _ change: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> CurlTransport {
      var configuration = CurlTransport.Configuration()
      configuration.trust = .authority(file: certificates.authority)
      change(&configuration)
      return try CurlTransport(configuration: configuration)
    }

    private func dispatcher(
      _ transport: CurlTransport, requests: Int, long: Int? = nil, connections: Int? = nil
    ) throws -> URLDispatcher {
      URLDispatcher(
        transport: transport,
        limits: try GateLimits(endPoint: EndPointLimits(requests: requests, long: long, connections: connections)))
    }

    @Test(
      "D88 concurrent requests to a new end-point make one connection, and share it",
      arguments: [8, 2])
    func oneConnection(connections: Int) async throws {
      let (nginx, certificates) = try await startNginx()
      let dispatcher = try dispatcher(transport(certificates), requests: 8, connections: connections)
      // Long enough for eight requests to run at once.
      let url = nginx.url("/bytes/100?delay=200", scheme: "https")
      #expect(await statuses(dispatcher, Array(repeating: url, count: 40)) == Array(repeating: 200, count: 40))
      #expect(try await nginx.connections().accepted == 1)
      #expect(origin.counts().peakRequests == 8)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.count == 40)
      #expect(nginx.requests.allSatisfy { $0.isHTTP2 && $0.open == 1 })
    }

    @Test("D90 requests, connections or both are limited, each as the server sees it")
    func bothLimits() async throws {
      // The server accepts four streams per connection: sixteen requests need more than the two connections allowed.
      let (nginx, certificates) = try await startNginx("http2_max_concurrent_streams 4;")
      let dispatcher = try dispatcher(transport(certificates), requests: 16, connections: 2)
      let url = nginx.url("/bytes/100?delay=200", scheme: "https")
      #expect(await statuses(dispatcher, Array(repeating: url, count: 100)) == Array(repeating: 200, count: 100))
      // A connection that is idle for a moment may make room for another: the number open at once counts.
      #expect(try await nginx.connections().accepted >= 2)
      #expect(origin.counts().peakRequests <= 8)
      #expect(origin.counts().peakRequests > 4)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.allSatisfy { $0.isHTTP2 && $0.open <= 2 })
    }

    @Test(
      "D84 D85 a burst is held back until the server has announced its number of streams, and then keeps to it",
      arguments: [1, 3])
    func settings(streams: Int) async throws {
      let (nginx, certificates) = try await startNginx("http2_max_concurrent_streams \(streams);")
      let dispatcher = try dispatcher(transport(certificates), requests: 30, connections: 1)
      let url = nginx.url("/bytes/100?delay=5", scheme: "https")
      #expect(await statuses(dispatcher, Array(repeating: url, count: 60)) == Array(repeating: 200, count: 60))
      #expect(origin.counts().peakRequests <= streams)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.filter { $0.status == 200 }.count == 60)
      #expect(nginx.requests.allSatisfy { $0.open <= 1 })
    }

    @Test("D86 a server that ends its connection after ten requests (GOAWAY) loses none, and never sees more sockets")
    func goAway() async throws {
      let (nginx, certificates) = try await startNginx("keepalive_requests 10;")
      let transport = try transport(certificates)
      let dispatcher = try dispatcher(transport, requests: 12, connections: 2)
      let url = nginx.url("/bytes/100?delay=2", scheme: "https")
      #expect(await statuses(dispatcher, Array(repeating: url, count: 300)) == Array(repeating: 200, count: 300))
      #expect(transport.openSockets(to: try EndPoint(url)) <= 2)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.filter { $0.status == 200 }.count == 300)
      #expect(Set(nginx.requests.map(\.connection)).count >= 25)
      #expect(nginx.requests.allSatisfy { $0.isHTTP2 && $0.open <= 2 })
    }

    @Test("beside streams that nobody reads, short requests share a connection over HTTP/2")
    func besideStreams() async throws {
      let (nginx, certificates) = try await startNginx()
      let transport = try transport(certificates)
      let dispatcher = try dispatcher(transport, requests: 100, connections: 3)
      let (short, large) = (nginx.url("/bytes/100", scheme: "https"), nginx.url("/large", scheme: "https"))
      #expect(await statuses(dispatcher, [short]) == [200])
      let mayRead = Gate()
      let streams = (0..<10).map { _ in
        Task {
          let response = try await dispatcher.stream(for: DispatchRequest(large))
          await mayRead.waitRegardless()
          return try await response.body.collect(upTo: 4_000_000).count
        }
      }
      while dispatcher.gate.counts.waiting < 8 { await Task.yield() }
      #expect(dispatcher.gate.counts.running == 2)
      #expect(await statuses(dispatcher, Array(repeating: short, count: 50)) == Array(repeating: 200, count: 50))
      #expect(dispatcher.gate.counts.waiting == 8)
      mayRead.open()
      for stream in streams { #expect(try await stream.value == 4_000_000) }
      #expect(transport.openSockets(to: try EndPoint(short)) <= 3)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.filter { !$0.isHTTP2 }.count == 10)
      #expect(nginx.requests.allSatisfy { $0.open <= 3 })
    }

    @Test("D89 streams that are cancelled in the middle affect no others, and leave the connection its full capacity")
    func cancelled() async throws {
      let (nginx, certificates) = try await startNginx()
      let dispatcher = try dispatcher(transport(certificates), requests: 20, connections: 1)
      let large = nginx.url("/large", scheme: "https")
      _ = try await dispatcher.data(for: large)
      for _ in 0..<10 {
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<20 {
            group.addTask {
              if number % 4 == 0 {
                #expect(try! await dispatcher.data(for: large).body.count == 4_000_000)
              } else {
                var request = try! DispatchRequest(large)
                request.maxBodyBytes = 100_000
                await #expect(throws: DispatchError.self) { try await dispatcher.data(for: request) }
              }
            }
          }
        }
      }
      #expect(try await dispatcher.data(for: large).body.count == 4_000_000)
      #expect(try await nginx.connections().accepted == 1)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
    }

    @Test("a request that may pause has its own HTTP/1.1 connection beside the shared one, within the limit on sockets")
    func streamsBeside() async throws {
      let (nginx, certificates) = try await startNginx()
      let dispatcher = try dispatcher(transport(certificates), requests: 20, long: 2, connections: 3)
      let short = nginx.url("/bytes/100?delay=5", scheme: "https")
      #expect(try await dispatcher.data(for: short).statusCode == 200)
      var streams: [StreamedResponse] = []
      for _ in 0..<2 {
        let request = try DispatchRequest(nginx.url("/stream?chunks=0&every=5&size=10", scheme: "https"))
        streams.append(try await dispatcher.stream(for: request, lane: .long))
      }
      // The streams are not read; the other requests share the remaining capacity.
      origin.holdFirst(18)
      async let all = statuses(dispatcher, Array(repeating: short, count: 60))
      #expect(await origin.release(atRequests: 20))
      #expect(await all == Array(repeating: 200, count: 60))
      #expect(try await nginx.connections().accepted == 3)
      var iterator = streams[0].body.makeAsyncIterator()
      for _ in 0..<3 { #expect(try await iterator.next() != nil) }
      for stream in streams { stream.body.cancel() }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.filter(\.isHTTP2).count == 61)
      #expect(nginx.requests.allSatisfy { $0.open <= 3 })
    }

    @Test("a long request whose body is collected has one too: a long poll does not share a connection")
    func longBeside() async throws {
      let (nginx, certificates) = try await startNginx()
      let dispatcher = try dispatcher(transport(certificates), requests: 20, long: 2, connections: 3)
      let (long, short) = (nginx.url("/bytes/1000", scheme: "https"), nginx.url("/bytes/100", scheme: "https"))
      #expect(try await dispatcher.data(for: short).statusCode == 200)
      #expect(try await dispatcher.data(for: DispatchRequest(long), lane: .long).body.count == 1000)
      #expect(try await dispatcher.data(for: DispatchRequest(long)).body.count == 1000)
      var upload = try DispatchRequest(nginx.url("/echo", scheme: "https"), method: .put)
      upload.body = RequestBody(Array(repeating: 7, count: 1000))
      #expect(try await dispatcher.data(for: upload, lane: .long).body.count == 1000)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.map(\.isHTTP2) == [true, false, true, false])
    }

    @Test("D19 a request that needs its own socket gets it, although others keep sharing the only one allowed")
    func noStarving() async throws {
      let (nginx, certificates) = try await startNginx()
      let dispatcher = try dispatcher(transport(certificates), requests: 8, connections: 1)
      let short = nginx.url("/bytes/100?delay=2", scheme: "https")
      #expect(try await dispatcher.data(for: short).statusCode == 200)
      let isOver = LockedBox(false)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask {
            while !isOver.withLock({ $0 }) { _ = await statuses(dispatcher, [short]) }
          }
        }
        group.addTask {
          for _ in 0..<5 {
            let folder = folder.file("download")
            let file = try? await dispatcher.download(
              for: DispatchRequest(nginx.url("/large", scheme: "https")), to: .replacing(folder))
            #expect(file?.bytes == 4_000_000)
          }
          isOver.withLock { $0 = true }
        }
      }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.allSatisfy { $0.status == 200 && $0.open == 1 })
      #expect(nginx.requests.contains { $0.isHTTP2 } && nginx.requests.contains { !$0.isHTTP2 })
    }

    @Test(
      "D34 the time that a request with a permit waits for a socket counts as waiting, and not toward its timeout")
    func waitingForSocket() async throws {
      let (nginx, certificates) = try await startNginx()
      let clock = ManualClock()
      let dispatcher = URLDispatcher(
        transport: try transport(certificates),
        limits: try GateLimits(endPoint: EndPointLimits(requests: 8, connections: 1)),
        timers: clock)
      var request = try DispatchRequest(nginx.url("/bytes/100", scheme: "https"))
      var endless = try DispatchRequest(nginx.url("/stream?chunks=0&every=5&size=10", scheme: "https"))
      // So that only the two requests below set timers.
      (request.timeout, endless.timeout) = (nil, nil)
      #expect(try await dispatcher.data(for: request).statusCode == 200)
      let stream = try await dispatcher.stream(for: endless, lane: .long)
      request.timeout = .seconds(1)
      var late = request
      late.deadline = .seconds(5)
      let (patient, hurried) = (Outcome(), Outcome())
      dispatcher.dispatch(request) { patient.set($0) }
      dispatcher.dispatch(late) { hurried.set($0) }
      // Their timeouts are suspended as soon as they wait for a socket; only the deadline remains.
      try await clock.timers(atMost: 1)
      clock.advance(by: .seconds(10))
      guard case .failure(let error) = await hurried.wait() else {
        Issue.record("there is no socket for it")
        return
      }
      #expect(error.code == .deadlineExceeded, "\(error)")
      #expect(error.phase == .waiting, "\(error)")
      #expect(error.waited == .seconds(5), "\(error)")
      stream.body.cancel()
      let response = try await patient.wait().get()
      #expect(response.statusCode == 200)
      #expect(response.times.queued == .seconds(10))
      await dispatcher.shutDown(.drain)
      await nginx.stop()
    }

    @Test(
      "trailers are delivered over HTTP/1.1 and HTTP/2, with responses in memory, streams and files",
      arguments: [true, false])
    func trailers(http2: Bool) async throws {
      let (nginx, certificates) = try await startNginx(
        "add_trailer X-Sum seven; add_trailer X-Sum eight;", http2: http2)
      let dispatcher = try dispatcher(transport(certificates), requests: 2)
      var request = try DispatchRequest(nginx.url("/large", scheme: "https"))
      request.requires = .trailers
      let name = try #require(HTTPField.Name("X-Sum"))
      let response = try await dispatcher.data(for: request)
      #expect(response.body.count == 4_000_000)
      #expect(response.trailers[values: name] == ["seven", "eight"])
      #expect(response.headerFields[name] == nil)
      let streamed = try await dispatcher.stream(for: request)
      #expect(try await streamed.body.collect(upTo: 5_000_000).count == 4_000_000)
      #expect(streamed.body.trailers[values: name] == ["seven", "eight"])
      let file = try await dispatcher.download(for: request, to: .replacing(folder.file("filed")))
      #expect(file.trailers[values: name] == ["seven", "eight"])
      // Without a declared length, trailers are delivered over HTTP/2 too.
      let chunked = try await dispatcher.data(for: nginx.url("/stream?chunks=3&every=1&size=10", scheme: "https"))
      #expect(chunked.body.count == 30)
      #expect(chunked.trailers[values: name] == ["seven", "eight"])
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.contains(where: \.isHTTP2) == http2)
    }

    @Test("without HTTP/2, at the server or in the transport, each request has a socket, and none is lost")
    func withoutHTTP2() async throws {
      for (offered, wanted) in [(false, CurlHTTPVersion.best), (true, .http1)] {
        let (nginx, certificates) = try await startNginx(http2: offered)
        let transport = try transport(certificates) { $0.httpVersion = wanted }
        let dispatcher = try dispatcher(transport, requests: 20, connections: 3)
        let url = nginx.url("/bytes/100?delay=5", scheme: "https")
        #expect(await statuses(dispatcher, Array(repeating: url, count: 60)) == Array(repeating: 200, count: 60))
        #expect(try await nginx.connections().accepted == 3)
        await dispatcher.shutDown(.drain)
        await nginx.stop()
        #expect(nginx.requests.allSatisfy { !$0.isHTTP2 && $0.open <= 3 })
      }
      #expect(origin.counts().peakRequests <= 3)
    }
  }
}
