import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Limits on requests and on sockets, and what a transport reports of its connections.
@Suite struct MultiplexingTests {
  private let transport = ScriptedTransport(endsWhenCancelled: true)
  private let clock = ManualClock()
  private let dispatcher: URLDispatcher

  init() throws {
    dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 10, connections: 2)),
      timers: clock)
  }

  private func submit(
    _ count: Int, _ ended: LockedBox<[Result<DispatchResponse, DispatchError>]>,
    _ change: (inout DispatchRequest) -> Void = { _ in }
  ) throws {
    var request = try DispatchRequest("https://h/")
    change(&request)
    for _ in 0..<count { dispatcher.dispatch(request) { result in ended.withLock { $0.append(result) } } }
  }

  @Test(
    "D90 no more run than there may be sockets, until the transport has seen HTTP/2; then the limit on requests applies"
  )
  func ceiling() async throws {
    let ended = LockedBox<[Result<DispatchResponse, DispatchError>]>([])
    try submit(30, ended)
    let endPoint = try EndPoint("https://h/")
    #expect(transport.running(at: endPoint) == 2)
    let first = try await transport.next()
    first.connectionMultiplexes(true)
    #expect(transport.running(at: endPoint) == 10)
    first.respond()
    #expect(transport.running(at: endPoint) == 10)
    #expect(dispatcher.gate.counts.waiting == 19)
    #expect(transport.violations == [])
  }

  @Test(
    "D87 an end-point that falls back to HTTP/1.1 loses nothing: running requests may end, waiting ones follow sockets"
  )
  func backToHTTP1() async throws {
    let ended = LockedBox<[Result<DispatchResponse, DispatchError>]>([])
    try submit(30, ended)
    let endPoint = try EndPoint("https://h/")
    let first = try await transport.next()
    first.connectionMultiplexes(true)
    first.connectionMultiplexes(false)
    #expect(transport.running(at: endPoint) == 10)
    first.respond()
    while let exchange = transport.takeStarted() {
      exchange.respond()
      #expect(transport.running(at: endPoint) <= 9)
    }
    #expect(ended.withLock { $0.count } == 30)
    #expect(transport.running(at: endPoint) == 0)
    // It is still known: after HTTP/2 it would be ten.
    try submit(5, ended)
    #expect(transport.running(at: endPoint) == 2)
  }

  @Test(
    "streams leave a socket to all others where those share it, unless streams share it too", arguments: [false, true])
  func streams(share: Bool) async throws {
    let transport = ScriptedTransport(capabilities: share ? [.http2, .streamsOverHTTP2] : .http2)
    let dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 10, connections: 4)),
      timers: clock)
    let request = try DispatchRequest("https://h/")
    let responses = Responses()
    let streams = (0..<8).map { _ in Task { try await dispatcher.stream(for: request) } }
    // A task may have its permit, and not have called the transport yet.
    while dispatcher.gate.counts.waiting < 4 || transport.running(at: request.endPoint) < 4 { await Task.yield() }
    #expect(transport.running(at: request.endPoint) == 4)
    var running: [ScriptedExchange] = []
    while let exchange = transport.takeStarted() { running.append(exchange) }
    // Now the limit on requests applies, and only to streams that share sockets: the others have one too many.
    running[0].connectionMultiplexes(true)
    #expect(transport.running(at: request.endPoint) == (share ? 8 : 4))
    while let exchange = transport.takeStarted() { running.append(exchange) }
    running[0].respond()
    #expect(transport.running(at: request.endPoint) == (share ? 7 : 3))
    let short = dispatcher.dispatch(request) { responses.add($0) }
    #expect(short.waitReason == nil && transport.running(at: request.endPoint) == (share ? 8 : 4))
    let entry = try #require(dispatcher.gate.snapshot().endPoints.first)
    #expect(entry.waitReason?.description == (share ? nil : "connections 3/3"))
    // A stream that ends makes room for another.
    running[1].respond()
    #expect(transport.running(at: request.endPoint) == (share ? 7 : 4))
    var open = running.dropFirst(2)
    for _ in 0..<7 {
      if let exchange = open.popFirst() { exchange.respond() } else { try await transport.next().respond() }
    }
    for stream in streams { #expect(try await stream.value.statusCode == 200) }
    #expect(try responses.last?.get().statusCode == 200)
  }

  @Test("over HTTP/2 more may be long than there are sockets; over HTTP/1.1 one socket is left for short requests")
  func manyLong() async throws {
    let transport = ScriptedTransport(capabilities: [.http2, .streamsOverHTTP2])
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 30, long: 20, connections: 3))
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock)
    let (request, responses) = (try DispatchRequest("https://h/"), Responses())
    let operations = (0..<25).map { _ in dispatcher.dispatch(request, lane: .long) { responses.add($0) } }
    #expect(transport.running(at: request.endPoint) == 2)
    #expect(operations.last?.waitReason?.description == "behind 22 others: long lane 2/2")
    let first = try await transport.next()
    first.connectionMultiplexes(true)
    #expect(transport.running(at: request.endPoint) == 20)
    dispatcher.dispatch(request) { responses.add($0) }
    #expect(transport.running(at: request.endPoint) == 21)
    first.connectionMultiplexes(false)
    first.respond()
    #expect(transport.running(at: request.endPoint) == 20)
    dispatcher.dispose()
  }

  @Test("D34 waiting for a socket is not running: the timeout is suspended, the deadline is not")
  func waiting() async throws {
    let ended = LockedBox<[Result<DispatchResponse, DispatchError>]>([])
    try submit(1, ended) { $0.timeout = .seconds(1) }
    let exchange = try await transport.next()
    clock.advance(by: .milliseconds(600))
    exchange.startSocketWait()
    clock.advance(by: .seconds(10))
    #expect(ended.withLock { $0.isEmpty })
    exchange.endSocketWait()
    clock.advance(by: .milliseconds(300))
    #expect(ended.withLock { $0.isEmpty })
    clock.advance(by: .milliseconds(100))
    let failure = ended.withLock { results in
      if case .failure(let error)? = results.first { error } else { nil as DispatchError? }
    }
    #expect(failure?.code == .timedOut)
    #expect(failure?.ran == .seconds(1))
    #expect(failure?.waited == .seconds(10))

    try submit(1, ended) {
      $0.timeout = .seconds(1)
      $0.deadline = .seconds(5)
    }
    let second = try await transport.next()
    second.startSocketWait()
    clock.advance(by: .seconds(5))
    guard case .failure(let late)? = ended.withLock({ $0.last }) else {
      Issue.record("it has not ended")
      return
    }
    #expect(late.code == .deadlineExceeded)
    #expect(late.waited == .seconds(5))
    #expect(late.ran == .zero)
  }

  @Test("an exchange that waits for a socket inside its start has its timeout from the moment it continues")
  func waitingFromTheStart() async throws {
    let held = LockedBox<ScriptedExchange?>(nil)
    let transport = ScriptedTransport { exchange in
      exchange.startSocketWait()
      held.withLock { $0 = exchange }
    }
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    let ended = LockedBox<DispatchError?>(nil)
    var request = try DispatchRequest("https://h/")
    request.timeout = .seconds(1)
    request.idleTimeout = .seconds(1)
    dispatcher.dispatch(request) { result in
      if case .failure(let error) = result { ended.withLock { $0 = error } }
    }
    clock.advance(by: .seconds(100))
    #expect(ended.withLock { $0 } == nil)
    held.withLock { $0 }?.endSocketWait()
    clock.advance(by: .milliseconds(999))
    #expect(ended.withLock { $0 } == nil)
    clock.advance(by: .milliseconds(1))
    #expect(ended.withLock { $0 }?.waited == .seconds(100))
  }

  @Test("trailers are delivered with the response, whole or streamed; a response without trailers has none")
  func trailers() async throws {
    let name = try #require(HTTPField.Name("X-Sum"))
    let collected = Task { [dispatcher] in try await dispatcher.data(for: "https://h/") }
    let first = try await transport.next()
    first.head()
    first.body([1])
    first.trailers([name: "7"])
    first.end()
    #expect(try await collected.value.trailers[name] == "7")

    let streamed = Task { [dispatcher] in try await dispatcher.stream(for: DispatchRequest("https://h/")) }
    let second = try await transport.next()
    second.head()
    let response = try await streamed.value
    #expect(response.body.trailers.isEmpty)
    second.trailers([name: "8"])
    second.end()
    #expect(try await response.body.collect(upTo: 10) == [])
    #expect(response.body.trailers[name] == "8")

    let ended = Gate()
    let operation = dispatcher.dispatch(try DispatchRequest("https://h/")) { _ in ended.open() }
    let third = try await transport.next()
    third.respond()
    try await ended.wait()
    #expect(operation.trailers.isEmpty)
  }

  @Test("a request that a transport can't carry ends before it is sent, and the error names the reason")
  func unsupported() async throws {
    var request = try DispatchRequest("https://h/")
    request.requires = [.trailers, .http2]
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      Issue.record("it can't")
    } catch {
      #expect(error.code == .unsupported)
      #expect(error.description.contains("HTTP/2, trailers"))
      #expect(error.endPoint == request.endPoint)
    }
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: "http+unix://%2Frun%2Fx/")
      Issue.record("it can't")
    } catch {
      #expect(error.code == .unsupported)
      #expect(error.description.contains("Unix-domain sockets"))
    }
    #expect(dispatcher.gate.counts.running == 0)
    #expect(transport.takeStarted() == nil)

    let able = ScriptedTransport(capabilities: [.trailers, .http2]) { $0.respond() }
    #expect(try await URLDispatcher(transport: able).data(for: request).statusCode == 200)
  }
}
