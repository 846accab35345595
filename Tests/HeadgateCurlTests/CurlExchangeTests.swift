import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// The data sent and received.
@Suite struct CurlExchangeTests {
  private let origin: Origin
  private let dispatcher: URLDispatcher

  init() throws {
    origin = try Origin()
    dispatcher = URLDispatcher(transport: try CurlTransport())
  }

  private func failure(_ path: String, _ change: (inout DispatchRequest) -> Void = { _ in }) async throws
    -> DispatchError?
  {
    var request = try DispatchRequest(origin.url(path))
    change(&request)
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  @Test("the client's name and its encodings are sent once, and a request's own fields replace them")
  func ownFields() async throws {
    func echoed(_ name: HTTPField.Name, _ fields: HTTPFields) async throws -> [String] {
      let response = try await dispatcher.data(
        for: DispatchRequest(origin.url("/echo"), headerFields: fields))
      return response.headerFields[values: try #require(HTTPField.Name("X-Echo-\(name.rawName)"))]
    }
    let (plain, own): (HTTPFields, HTTPFields) = ([:], [.userAgent: "mine", .acceptEncoding: "identity"])
    // The same handle serves one request after the other.
    for fields in [plain, own, plain, [.accept: "text/x"]] {
      let agent = fields[.userAgent] ?? CurlTransport.Configuration().userAgent
      #expect(try await echoed(.userAgent, fields) == [agent])
      let encodings = try await echoed(.acceptEncoding, fields)
      #expect(encodings.count == 1)
      #expect(fields == own ? encodings == ["identity"] : encodings[0].hasPrefix("gzip"))
    }
  }

  @Test("without compression servers are not asked for it, and a compressed body is delivered unchanged")
  func withoutCompression() async throws {
    var configuration = CurlTransport.Configuration()
    configuration.acceptsCompression = false
    let plain = URLDispatcher(transport: try CurlTransport(configuration: configuration))
    let echo = try await plain.data(for: origin.url("/echo"))
    #expect(echo.headerFields[try #require(HTTPField.Name("X-Echo-Accept-Encoding"))] == nil)
    let response = try await plain.data(for: origin.url("/gzip?bytes=100000"))
    #expect(response.headerFields[.contentEncoding] == "gzip")
    #expect(Array(response.body.prefix(2)) == [0x1F, 0x8B])
    #expect(response.body.count < 100_000)
    await plain.shutDown(.drain)
  }

  @Test("method, fields and body arrive unchanged", arguments: ["POST", "PUT", "PATCH", "DELETE", "QUERY"])
  func upload(method: String) async throws {
    var request = try DispatchRequest(origin.url("/echo"))
    request.method = try #require(HTTPRequest.Method(rawValue: method))
    request.headerFields[.accept] = "text/x"
    request.headerFields[try #require(HTTPField.Name("X-Empty"))] = ""
    request.body = RequestBody(Array(repeating: 7, count: 3_000_000))
    let response = try await dispatcher.data(for: request)
    #expect(response.body == request.body?.bytes)
    let name = try #require(HTTPField.Name("X-Method"))
    #expect(response.headerFields[name] == method)
    #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-Accept"))] == "text/x")
    #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-X-Empty"))] == "")
    // For more than a megabyte the client sends Expect: 100-continue.
    #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-Expect"))] == "100-continue")
  }

  @Test("an empty body, and a request after one with a body, carry nothing over")
  func noLeftovers() async throws {
    var request = try DispatchRequest(origin.url("/echo"))
    request.method = .post
    request.body = RequestBody("first")
    request.headerFields[.authorization] = "secret"
    #expect(try await dispatcher.data(for: request).text == "first")
    request.body = RequestBody("")
    #expect(try await dispatcher.data(for: request).text == "")
    let plain = try await dispatcher.data(for: origin.url("/echo"))
    #expect(plain.headerFields[try #require(HTTPField.Name("X-Method"))] == "GET")
    #expect(plain.headerFields[try #require(HTTPField.Name("X-Echo-Authorization"))] == nil)
    #expect(plain.body.isEmpty)
  }

  @Test("a compressed body is inflated, and one that inflates beyond the cap is an error, without using the memory")
  func bomb() async throws {
    #expect(try await dispatcher.data(for: origin.url("/gzip?bytes=1000000")).body.count == 1_000_000)
    let error = try await failure("/gzip?bytes=1000000000") { $0.maxBodyBytes = 2_000_000 }
    #expect(error?.code == .bodyTooLarge)
  }

  @Test("a body over the cap, a head over the cap, invalid HTTP: each its own error")
  func faults() async throws {
    #expect(try await failure("/bytes/2000") { $0.maxBodyBytes = 1_999 }?.code == .bodyTooLarge)
    #expect(try await failure("/bytes/2000") { $0.maxBodyBytes = 2_000 } == nil)
    #expect(try await failure("/headers?bytes=290000")?.code == .headTooLarge)
    #expect(try await failure("/garbage")?.code == .badResponse)
    #expect(try await failure("/torn")?.code == .badResponse)
    #expect(try await failure("/spaced")?.code == .badResponse)
    // A stream's caller waits for a head, so it must be told that none came.
    await #expect(throws: DispatchError.self) {
      _ = try await dispatcher.stream(for: DispatchRequest(origin.url("/torn")))
    }
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("D39 the timeout applies to a server that trickles, and the idle limit to one that stops")
  func timeouts() async throws {
    // In real time it may end in any phase.
    let trickling = try await failure("/trickle?bytes=100000&every=20") { $0.timeout = .milliseconds(300) }
    #expect(trickling?.code == .timedOut)
    let idle = try await failure("/stream?chunks=2&every=60000&size=5") { $0.idleTimeout = .milliseconds(300) }
    #expect(idle?.code == .idleTimedOut)
  }

  @Test("D39 an error by the timeout names the phase: before the head, within the body")
  func phasesOfTimeouts() async throws {
    let clock = ManualClock()
    let dispatcher = URLDispatcher(transport: try CurlTransport(), timers: clock)
    var silent = try DispatchRequest(origin.url("/silence"))
    silent.timeout = .seconds(2)
    let answer = Task { [silent] in try await dispatcher.data(for: silent) }
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    try await clock.timers(1)
    clock.advance(by: .seconds(2))
    var error = await #expect(throws: DispatchError.self) { try await answer.value }
    #expect((error?.code, error?.phase) == (.timedOut, .awaitingHead))
    var trickling = try DispatchRequest(origin.url("/trickle?bytes=100000&every=20"))
    trickling.timeout = .seconds(3)
    trickling.timeoutEndsWithHead = false
    let stream = try await dispatcher.stream(for: trickling)
    try await clock.timers(1)
    clock.advance(by: .seconds(3))
    error = await #expect(throws: DispatchError.self) { for try await _ in stream.body {} }
    #expect((error?.code, error?.phase) == (.timedOut, .receiving))
    await dispatcher.shutDown(.drain)
  }

  @Test("D58 a reader that reads nothing stops the server, at its socket; then everything arrives in order")
  func backPressure() async throws {
    let size = 64 << 20
    var request = try DispatchRequest(origin.url("/bytes/\(size)"))
    request.timeout = nil
    let response = try await dispatcher.stream(for: request)
    // Others are served meanwhile, for longer than the body would take with a reader.
    for _ in 0..<300 { #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200) }
    // The server may notice the last short request's end a moment later. The stream is still being sent.
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    #expect(origin.counts().served == 300)
    var position = 0
    for try await piece in response.body {
      #expect(piece.first == OriginAnswer.patternByte(at: position))
      position += piece.count
    }
    #expect(position == size)
  }

  @Test("five hundred streams open at once on one loop, and short requests beside them")
  func manyStreams() async throws {
    let count = 500
    let transport = try CurlTransport()
    let dispatcher = URLDispatcher(
      transport: transport,
      limits: try GateLimits(endPoint: EndPointLimits(requests: count + 2, long: count), total: 4096))
    var streams: [StreamedResponse] = []
    for _ in 0..<count {
      let request = try DispatchRequest(origin.url("/stream?chunks=0&every=60000&size=1"))
      streams.append(try await dispatcher.stream(for: request, lane: .long))
    }
    #expect(origin.counts().requests == count)
    for _ in 0..<50 { #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200) }
    for stream in streams { stream.body.cancel() }
    await dispatcher.shutDown(.drain)
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    #expect(transport.openSockets(to: try EndPoint(host: "127.0.0.1", port: Int(origin.port))) == 0)
  }

  @Test("a file is written, and named when complete; an error status leaves none")
  func download() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/name"
    let request = try DispatchRequest(origin.url("/bytes/3000000"))
    let first = try await dispatcher.download(for: request, to: .numbered(path))
    let second = try await dispatcher.download(for: request, to: .numbered(path))
    #expect(first.path == path && second.path == path + ".1")
    #expect(first.bytes == 3_000_000)
    #expect(folder.size(of: "name") == 3_000_000)
    let missing = try await dispatcher.download(for: DispatchRequest(origin.url("/status/404")), to: .replacing(path))
    #expect(missing.statusCode == 404 && missing.path == nil)
    #expect(folder.names == ["name", "name.1"])
    let cut = try DispatchRequest(origin.url("/short?declared=500000&sent=400000"))
    await #expect(throws: DispatchError.self) { _ = try await dispatcher.download(for: cut, to: .numbered(path)) }
    #expect(folder.names == ["name", "name.1"])
    do throws(DispatchError) {
      _ = try await dispatcher.download(for: request, to: .numbered("/nowhere/at/all"))
      Issue.record("a file in a missing folder")
    } catch {
      #expect(error.code == .fileFailed)
    }
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("the callback form writes files too, and a cancelled request leaves nothing")
  func downloadWithCallback() async throws {
    let folder = try TemporaryFolder()
    let (whole, cancelled) = (Gate(), Gate())
    let outcomes = LockedBox<[String: Result<FileResponse, DispatchError>]>([:])
    dispatcher.dispatch(
      try DispatchRequest(origin.url("/bytes/300000")), to: .numbered(folder.path + "/whole")
    ) { result in
      outcomes.withLock { $0["whole"] = result }
      whole.open()
    }
    var silent = try DispatchRequest(origin.url("/silence"))
    silent.timeout = nil
    let operation = dispatcher.dispatch(silent, to: .numbered(folder.path + "/cancelled"), lane: .long, policy: .fail) {
      result in
      outcomes.withLock { $0["cancelled"] = result }
      cancelled.open()
    }
    try await whole.wait()
    operation.cancel()
    try await cancelled.wait()
    #expect(try outcomes.withLock { $0["whole"] }?.get().bytes == 300_000)
    guard case .failure(let error) = outcomes.withLock({ $0["cancelled"] }) else {
      Issue.record("a silent server has answered")
      return
    }
    #expect(error.code == .cancelled)
    #expect(folder.names == ["whole"])
    await dispatcher.shutDown(.drain)
  }

  @Test("after a shutdown the loop's thread and all its descriptors are gone")
  func nothingLeft() async throws {
    _ = try await dispatcher.data(for: origin.url("/"))
    for _ in 0..<50 {
      let dispatcher = URLDispatcher(transport: try CurlTransport())
      #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
      await dispatcher.shutDown(.drain)
    }
    #expect(await origin.waitUntil({ $0.sockets <= 1 }, until: .after(.seconds(60))))
  }
}
