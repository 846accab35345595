import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import HeadgateURLSession
import Testing

/// A transport under test, and the capabilities that it lacks.
struct TransportOnTrial: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable () throws -> any Transport

  /// The capabilities that it declares.
  var capabilities: TransportCapabilities { (try? make().capabilities) ?? [] }

  static let all = [
    TransportOnTrial(testDescription: "libcurl") { try CurlTransport() },
    TransportOnTrial(testDescription: "URLSession") { URLSessionTransport() },
  ]
}

/// The common behaviour of all transports, seen through a dispatcher and counted by the origin.
@Suite struct TransportContractTests {
  private let origin: Origin

  init() throws { origin = try Origin(endPoints: 2) }

  private func dispatcher(_ trial: TransportOnTrial, requests: Int = 4) throws -> URLDispatcher {
    let limits = try GateLimits(endPoint: EndPointLimits(requests: requests))
    return URLDispatcher(transport: try trial.make(), limits: limits)
  }

  /// A request that a test holds, without time limits.
  private func patient(_ path: String) throws -> DispatchRequest {
    var request = try DispatchRequest(origin.url(path))
    request.timeout = nil
    request.connectTimeout = nil
    return request
  }

  private func failure(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  private static let features: [TransportCapabilities] = (0..<15).map { TransportCapabilities(rawValue: 1 << $0) }

  @Test(
    "a missing capability ends a request that needs it, unsent and with an error that says so; others are sent",
    arguments: TransportOnTrial.all, features)
  func capabilities(_ trial: TransportOnTrial, feature: TransportCapabilities) async throws {
    #expect(!feature.description.isEmpty)
    let dispatcher = try dispatcher(trial)
    var request = try DispatchRequest(origin.url("/"))
    request.requires = feature
    let error = await failure(dispatcher, request)
    // The origin speaks plain http, where HTTP/2 is not offered.
    if trial.capabilities.contains(feature), feature != .http2 {
      #expect(error == nil, "\(String(describing: error))")
    } else {
      #expect(error?.code == .unsupported, "\(String(describing: error))")
      #expect(error?.description.contains(feature.description) == true)
      #expect(origin.counts().received == 0)
    }
    await dispatcher.shutDown()
  }

  @Test(
    "a request goes to a Unix-domain socket, or ends with an error that says so, and names its path",
    arguments: TransportOnTrial.all)
  func unixSocket(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let error = await failure(dispatcher, try DispatchRequest("http+unix://%2Fnowhere%2Fx.sock/"))
    #expect(error?.code == (trial.capabilities.contains(.unixSockets) ? .connectFailed : .unsupported))
    #expect(error?.description.hasPrefix("unix:/nowhere/x.sock: ") == true, "\(String(describing: error))")
    await dispatcher.shutDown()
  }

  @Test("status, fields, body and times of a response", arguments: TransportOnTrial.all)
  func response(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.data(for: origin.url("/bytes/100000"))
    #expect(response.statusCode == 200)
    #expect(response.headerFields[.contentLength] == "100000")
    #expect(response.head[.contentLength] == "100000")
    #expect(response.url == origin.url("/bytes/100000"))
    #expect(response.body.count == 100_000)
    #expect(response.body[12_345] == OriginAnswer.patternByte(at: 12_345))
    #expect(response.times.exchange.firstByte > .zero)
    #expect(response.times.exchange.total >= response.times.exchange.firstByte)
    #expect(response.times.total >= response.times.exchange.total)
    await dispatcher.shutDown()
  }

  @Test(
    "tasks that prefer the dispatcher's executor, if it has one, get the same results",
    arguments: TransportOnTrial.all)
  func taskExecutor(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let url = origin.url("/bytes/1000")
    let bytes = await withTaskExecutorPreference(dispatcher.taskExecutor) {
      await withTaskGroup(of: Int.self) { group in
        for _ in 0..<50 { group.addTask { (try? await dispatcher.data(for: url).body.count) ?? 0 } }
        return await group.reduce(0, +)
      }
    }
    #expect(bytes == 50_000)
    await dispatcher.shutDown()
  }

  @Test(
    "all statuses are delivered, 401 and 503 too, and redirects without a location", arguments: TransportOnTrial.all,
    [204, 301, 304, 308, 401, 404, 503])
  func statuses(_ trial: TransportOnTrial, status: Int) async throws {
    let dispatcher = try dispatcher(trial)
    #expect(try await dispatcher.data(for: origin.url("/status/\(status)")).statusCode == status)
    await dispatcher.shutDown()
  }

  @Test("a challenge that nobody answers is a response", arguments: TransportOnTrial.all)
  func challenge(_ trial: TransportOnTrial) async throws {
    origin.setScript(
      OriginScript { _ in
        var answer = OriginAnswer.text("who?", status: 401)
        answer.headers = [OriginHeader("WWW-Authenticate", "Basic realm=\"x\"")]
        return answer
      })
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.data(for: origin.url("/"))
    #expect(response.statusCode == 401 && response.body == Array("who?".utf8))
    await dispatcher.shutDown()
  }

  @Test(
    "method, fields and body arrive unchanged", arguments: TransportOnTrial.all, ["POST", "PUT", "DELETE"])
  func upload(_ trial: TransportOnTrial, method: String) async throws {
    let dispatcher = try dispatcher(trial)
    var request = try DispatchRequest(origin.url("/echo"))
    request.method = try #require(HTTPRequest.Method(rawValue: method))
    request.headerFields[.accept] = "text/x"
    request.body = RequestBody(Array(repeating: 7, count: 300_000))
    let response = try await dispatcher.data(for: request)
    #expect(response.body == request.body?.bytes)
    #expect(response.headerFields[try #require(HTTPField.Name("X-Method"))] == method)
    #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-Accept"))] == "text/x")
    await dispatcher.shutDown()
  }

  @Test("HEAD has no body", arguments: TransportOnTrial.all)
  func head(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    var request = try DispatchRequest(origin.url("/bytes/1000"))
    request.method = .head
    let response = try await dispatcher.data(for: request)
    #expect(response.statusCode == 200)
    #expect(response.headerFields[.contentLength] == "1000")
    #expect(response.body.isEmpty)
    await dispatcher.shutDown()
  }

  @Test("a response without a body may declare a compression", arguments: TransportOnTrial.all)
  func gzipWithoutBody(_ trial: TransportOnTrial) async throws {
    origin.setScript(
      OriginScript { request in
        var answer = OriginAnswer.text("", status: request.path == "/unchanged" ? 304 : 200)
        answer.headers = [OriginHeader("Content-Encoding", "gzip")]
        return request.path == "/gzip" ? nil : answer
      })
    let dispatcher = try dispatcher(trial)
    for (path, method, status) in [
      ("/gzip?bytes=1000", .head, 200), ("/unchanged", .get, 304), ("/", .get, 200),
    ] as [(String, HTTPRequest.Method, Int)] {
      let response = try await dispatcher.data(for: DispatchRequest(origin.url(path), method: method))
      #expect((response.statusCode, response.body) == (status, []), "\(path)")
    }
    await dispatcher.shutDown()
  }

  @Test("a compressed body is inflated", arguments: TransportOnTrial.all)
  func gzip(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.data(for: origin.url("/gzip?bytes=100000"))
    #expect(response.body.count == 100_000)
    await dispatcher.shutDown()
  }

  @Test("the origin never counts more requests than the limit, and is kept busy", arguments: TransportOnTrial.all)
  func limit(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 3)
    let held = try patient("/hold")
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<3 { group.addTask { try await dispatcher.data(for: held).statusCode } }
      #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
      origin.release()
      for _ in 0..<60 {
        group.addTask { try await dispatcher.data(for: origin.url("/delay/5")).statusCode }
      }
      for try await status in group { #expect(status == 200) }
    }
    // The last answer may arrive before the origin has counted it.
    #expect(await origin.waitUntil({ $0.served == 63 }, until: .after(.seconds(60))))
    let counts = origin.counts()
    #expect(counts.peakRequests == 3)
    if trial.capabilities.contains(.socketLimits) { #expect(counts.peakSockets == 3) }
    await dispatcher.shutDown()
  }

  @Test("a limit raised during the run is used", arguments: TransportOnTrial.all)
  func raised(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 2)
    let requests = try (0..<12).map { _ in try patient("/hold") }
    let responses = Task {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for request in requests { group.addTask { try await dispatcher.data(for: request).statusCode } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(.seconds(60))))
    dispatcher.setLimits(try GateLimits(endPoint: EndPointLimits(requests: 12)))
    #expect(await origin.waitUntil({ $0.requests == 12 }, until: .after(.seconds(60))))
    origin.release()
    #expect(try await responses.value == Array(repeating: 200, count: 12))
    await dispatcher.shutDown()
  }

  @Test("the dispatcher follows redirects, with the permit of the target", arguments: TransportOnTrial.all)
  func redirect(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let target = origin.url("/bytes/10", endPoint: 1)
    let response = try await dispatcher.data(for: origin.url("/redirect?to=\(target)"))
    #expect(response.url == target)
    #expect(response.body.count == 10)
    var request = try DispatchRequest(origin.url("/redirect?to=\(target)"))
    request.maxRedirects = 0
    #expect(try await dispatcher.data(for: request).statusCode == 302)
    await dispatcher.shutDown()
  }

  @Test("a body is delivered in pieces while it is sent, and waits for its reader", arguments: TransportOnTrial.all)
  func stream(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let size = trial.capabilities.contains(.backPressure) ? 30_000_000 : 3_000_000
    let response = try await dispatcher.stream(for: patient("/bytes/\(size)"), lane: .long)
    #expect(response.head.statusCode == 200)
    if trial.capabilities.contains(.backPressure) { #expect(origin.counts().served == 0) }
    var count = 0
    var isRight = true
    for try await piece in response.body {
      if let first = piece.first { isRight = isRight && first == OriginAnswer.patternByte(at: count) }
      count += piece.count
    }
    #expect(count == size)
    #expect(isRight)
    await dispatcher.shutDown()
  }

  @Test("a body without a reader for a while is sent once, and arrives whole", arguments: TransportOnTrial.all)
  func unread(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.stream(for: patient("/stream?chunks=30&every=2&size=10000"), lane: .long)
    // More than is kept for a reader. The rest fits into the socket's buffers.
    #expect(await origin.waitUntil({ $0.served + $0.aborted == 1 }, until: .after(.seconds(60))))
    #expect(try await response.body.collect(upTo: 1_000_000).count == 300_000)
    let counts = origin.counts()
    #expect((counts.received, counts.aborted) == (1, 0))
    await dispatcher.shutDown()
  }

  @Test("cancelling a running request closes its connection, and its permit moves on", arguments: TransportOnTrial.all)
  func cancel(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 1)
    let held = try patient("/hold")
    let task = Task { await failure(dispatcher, held) }
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    #expect(await origin.waitUntil({ $0.aborted == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  @Test("a cancellation that meets a redirect ends this request only", arguments: TransportOnTrial.all)
  func cancelAtRedirect(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 1)
    let redirect = try patient("/redirect?to=" + origin.url("/", endPoint: 1))
    for round in 1...200 {
      let over = Gate()
      let operation = dispatcher.dispatch(redirect) { _ in over.open() }
      // The redirect is on its way back by now, and meets the cancellation sooner or later.
      #expect(await origin.waitUntil({ $0.received >= round }, until: .after(.seconds(60))))
      for _ in 0..<round % 20 { await Task.yield() }
      operation.cancel()
      await over.waitInAnyCase()
    }
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("a body over the cap ends the exchange", arguments: TransportOnTrial.all)
  func bodyTooLarge(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 1)
    var request = try patient("/bytes/50000000")
    request.maxBodyBytes = 1000
    #expect(await failure(dispatcher, request)?.code == .bodyTooLarge)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test(
    "a reset, a short body, no server: each an error, and the dispatcher continues", arguments: TransportOnTrial.all)
  func failures(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 1)
    for path in ["/reset", "/reset?after=1000", "/short?declared=5000&sent=1000"] {
      let error = await failure(dispatcher, try patient(path))
      #expect(error?.code == .connectionLost, "\(path): \(String(describing: error))")
      #expect(error?.endPoint == (try DispatchRequest(origin.url("/")).endPoint))
    }
    // Not the port of a server that has stopped: another process may get that port.
    let nowhere = try DispatchRequest("http://127.0.0.1:1/")
    let refused = await failure(dispatcher, nowhere)
    #expect(refused?.code == .connectFailed && refused?.endPoint == nowhere.endPoint)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("a server that closes without a response has broken the connection", arguments: TransportOnTrial.all)
  func silentClose(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let request = try patient("/silence")
    async let failed = failure(dispatcher, request)
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    origin.stop()
    #expect(await failed?.code == .connectionLost)
    await dispatcher.shutDown()
  }

  @Test("the timeout counts from the permit and ends a silent server's request", arguments: TransportOnTrial.all)
  func timeout(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, requests: 1)
    var request = try patient("/silence")
    request.timeout = .milliseconds(200)
    let error = await failure(dispatcher, request)
    #expect(error?.code == .timedOut)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }
}
