import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Events over a dispatcher: connections, waits, permits and ends.
@Suite struct EventStreamTests {
  private static let isStream: HTTPFields = [.contentType: "text/event-stream"]

  /// The events that a consumer has received, and how the stream ended.
  private final class Reading: Sendable {
    let events = Outcomes<ServerSentEvent>()
    let task: Task<DispatchError?, Never>

    init(_ source: ServerSentEvents, ending: (@Sendable (ServerSentEvent) -> Bool)? = nil) {
      let events = events
      task = Task {
        do throws(DispatchError) {
          var iterator = source.makeAsyncIterator()
          while let event = try await iterator.next(isolation: nil) {
            events.add(event)
            if ending?(event) == true { break }
          }
          return nil
        } catch {
          return error
        }
      }
    }

    var data: [String] { events.values.map(\.data) }
  }

  /// The events of a request without a timeout. Its task would set and remove the timer at any time until it reads the
  /// first event, so a test could not tell that it waits to reconnect.
  private func events(_ dispatcher: URLDispatcher, from url: String = "http://a/stream") throws -> ServerSentEvents {
    var request = try DispatchRequest(url)
    request.timeout = nil
    return dispatcher.events(from: request)
  }

  private func header(_ exchange: ScriptedExchange, _ name: String) -> String? {
    HTTPField.Name(name).flatMap { exchange.request.headerFields[$0] }
  }

  private func open(_ exchange: ScriptedExchange, _ text: String = "") {
    exchange.head(200, Self.isStream)
    if !text.isEmpty { exchange.body(Array(text.utf8)) }
  }

  @Test("events are delivered as soon as they are complete, over a request of the long lane that accepts a stream")
  func plain() async throws {
    let bench = try Bench(requests: 3, long: 1)
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream"))
    let exchange = try await bench.transport.next()
    #expect(header(exchange, "Accept") == "text/event-stream")
    #expect(header(exchange, "Cache-Control") == "no-store")
    #expect(header(exchange, "Last-Event-ID") == nil)
    #expect(bench.dispatcher.gate.runningLongRequests(at: try bench.request().endPoint) == 1)
    open(exchange, "id: 1\nevent: greeting\ndata: hel")
    exchange.body(Array("lo\n\ndata: you\n\n".utf8))
    await reading.events.wait(for: 2)
    #expect(
      reading.events.values == [.init(data: "hello", name: "greeting", id: "1"), .init(data: "you", id: "1")])
    reading.task.cancel()
    #expect(await reading.task.value?.code == .cancelled)
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "an ended stream reconnects after at least 3 s, with the last identifier; no permit is held meanwhile"
  )
  func again() async throws {
    let bench = try Bench()
    let reading = Reading(try events(bench.dispatcher))
    let first = try await bench.transport.next()
    open(first, "id: 7\ndata: a\n\nid: 8\ndata: cut off")
    first.end()
    try await bench.clock.timers(1)
    #expect(reading.data == ["a"] && bench.counts.running == 0 && bench.counts.waiting == 0)
    bench.clock.advance(by: .milliseconds(2999))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .milliseconds(1501))
    let second = try await bench.transport.next()
    #expect(header(second, "Last-Event-ID") == "7")
    open(second, "data: b\n\nid\n\n")
    second.end(DispatchError(.connectionLost, phase: .receiving))
    try await bench.clock.timers(1)
    bench.clock.advance(by: .milliseconds(4500))
    let third = try await bench.transport.next()
    #expect(header(third, "Last-Event-ID") == nil)
    third.respond(204)
    #expect(await reading.task.value == nil)
    #expect(reading.events.values == [.init(data: "a", id: "7"), .init(data: "b", id: "7")])
    #expect(await bench.isCleanAtLast())
  }

  @Test("the server's `retry` sets the wait, and Retry-After lengthens it")
  func waits() async throws {
    let bench = try Bench()
    let reading = Reading(try events(bench.dispatcher))
    let first = try await bench.transport.next()
    open(first, "retry: 20000\ndata: a\n\n")
    first.end()
    try await bench.clock.timers(1)
    bench.clock.advance(by: .milliseconds(19_999))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .milliseconds(10_001))
    // Without a body: the stream closes this connection at the head, on its own thread, perhaps before a piece follows.
    try await bench.transport.next().respond(503, [.retryAfter: "300"])
    try await bench.clock.timers(1)
    #expect(bench.counts.running == 0)
    bench.clock.advance(by: .milliseconds(299_999))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .milliseconds(30_001))
    try await bench.transport.next().respond(204)
    #expect(await reading.task.value == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("the caller can set the first identifier")
  func firstIdentifier() async throws {
    let bench = try Bench()
    var request = try bench.request()
    request.headerFields[try #require(HTTPField.Name("Last-Event-ID"))] = "42"
    request.headerFields[.accept] = "text/event-stream, */*"
    let reading = Reading(bench.dispatcher.events(from: request))
    let exchange = try await bench.transport.next()
    #expect(header(exchange, "Last-Event-ID") == "42")
    #expect(header(exchange, "Accept") == "text/event-stream, */*")
    open(exchange, "data: a\n\n")
    await reading.events.wait(for: 1)
    #expect(reading.events.last?.id == "42")
    reading.task.cancel()
    _ = await reading.task.value
    #expect(await bench.isCleanAtLast())
  }

  @Test("another status or content type ends the stream with the response head in the error", arguments: [404, 200])
  func refused(status: Int) async throws {
    let bench = try Bench()
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream"))
    let exchange = try await bench.transport.next()
    exchange.head(status, [.contentType: "text/html"])
    let error = try #require(await reading.task.value)
    #expect(error.code == .noEventStream && error.endPoint?.host == "a")
    #expect((error.underlyingError as? NoEventStream)?.head.statusCode == status)
    #expect(error.detail.contains(status == 404 ? "404" : "text/html"))
    try await exchange.cancelled.wait()
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a POST is sent once: it ends with its stream, or throws the error that broke it off", arguments: [false, true])
  func post(breaks: Bool) async throws {
    let bench = try Bench()
    var request = try bench.request()
    (request.method, request.body) = (.post, RequestBody(Array("{}".utf8)))
    let reading = Reading(bench.dispatcher.events(from: request))
    let exchange = try await bench.transport.next()
    open(exchange, "data: a\n\n")
    exchange.end(breaks ? DispatchError(.connectionLost, phase: .receiving) : nil)
    #expect(await reading.task.value?.code == (breaks ? .connectionLost : nil))
    #expect(reading.data == ["a"] && bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a POST that receives Retry-After is not sent again")
  func postPutOff() async throws {
    let bench = try Bench()
    var request = try bench.request()
    request.method = .post
    let reading = Reading(bench.dispatcher.events(from: request))
    try await bench.transport.next().respond(503, [.retryAfter: "1"])
    #expect(await reading.task.value?.code == .noEventStream)
    #expect(await bench.isCleanAtLast())
  }

  @Test("an invalid URL is reported by the first event; after an error there are no more events")
  func invalid() async throws {
    let bench = try Bench()
    var iterator = bench.dispatcher.events(from: "nowhere").makeAsyncIterator()
    await #expect(throws: DispatchError.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(bench.isClean())
  }

  @Test("a stream that is cancelled while it waits to reconnect ends at once")
  func cancelledWhileWaiting() async throws {
    let bench = try Bench()
    let reading = Reading(try events(bench.dispatcher))
    let exchange = try await bench.transport.next()
    open(exchange, "data: a\n\n")
    exchange.end()
    try await bench.clock.timers(1)
    reading.task.cancel()
    #expect(await reading.task.value?.code == .cancelled)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a stream that is cancelled in the middle of an event ends at once and returns its permit")
  func cancelledInAnEvent() async throws {
    let bench = try Bench(requests: 1)
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream"))
    let exchange = try await bench.transport.next()
    open(exchange, "data: a\n\ndata: b")
    await reading.events.wait(for: 1)
    reading.task.cancel()
    #expect(await reading.task.value?.code == .cancelled)
    #expect(exchange.isCancelled && bench.counts.running == 0)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a cancelled stream delivers no event received before")
  func cancelledWithEventsLeft() async throws {
    let bench = try Bench(requests: 1)
    let (source, go, first) = (bench.dispatcher.events(from: "http://a/stream"), Gate(), Gate())
    let task = Task {
      var iterator = source.makeAsyncIterator()
      _ = try await iterator.next()
      first.open()
      await go.waitRegardless()
      return try await iterator.next()
    }
    open(try await bench.transport.next(), "data: a\n\ndata: b\n\n")
    try await first.wait()
    task.cancel()
    go.open()
    await #expect(throws: DispatchError.self) { try await task.value }
    #expect(bench.counts.running == 0)
    #expect(await bench.isCleanAtLast())
  }

  @Test("releasing the iterator ends the connection and returns the permit")
  func letGo() async throws {
    let bench = try Bench(requests: 1)
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream")) { $0.data == "a" }
    let exchange = try await bench.transport.next()
    open(exchange, "data: a\n\ndata: b\n\n")
    #expect(await reading.task.value == nil)
    try await exchange.cancelled.wait()
    #expect(await bench.isCleanAtLast())
  }

  @Test("the deadline covers all connections: it ends a stream, and no wait begins that would exceed it")
  func deadline() async throws {
    for endsInWait in [false, true] {
      let bench = try Bench()
      var request = try bench.request()
      (request.deadline, request.timeout) = (.seconds(10), nil)
      let reading = Reading(bench.dispatcher.events(from: request))
      let first = try await bench.transport.next()
      open(first, "data: a\n\n")
      first.end()
      try await bench.clock.timers(1)
      bench.clock.advance(by: .milliseconds(4500))
      let second = try await bench.transport.next()
      open(second, "data: b\n\n")
      await reading.events.wait(for: 2)
      if endsInWait {
        bench.clock.advance(by: .milliseconds(3000))
        second.end()
      } else {
        // 5.5 s are left, or up to 7 s: the stream wakes inside the first advance, 3 to 4.5 s after its start, and may
        // read what is left before that advance is over, but submit its request after that.
        bench.clock.advance(by: .seconds(7))
      }
      #expect(await reading.task.value?.code == .deadlineExceeded)
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test("each of two consumers has its own connection and gets all events")
  func twoConsumers() async throws {
    let bench = try Bench(requests: 3, long: 2)
    let source = bench.dispatcher.events(from: "http://a/stream")
    let readings = [Reading(source) { $0.data == "b" }, Reading(source) { $0.data == "b" }]
    for _ in 0..<2 { open(try await bench.transport.next(), "data: a\n\ndata: b\n\n") }
    for reading in readings {
      #expect(await reading.task.value == nil)
      #expect(reading.data == ["a", "b"])
    }
    #expect(await bench.isCleanAtLast())
  }

  @Test("a consumer that reads nothing pauses the transfer; reading resumes it")
  func backPressure() async throws {
    let bench = try Bench()
    let (source, go) = (bench.dispatcher.events(from: "http://a/stream"), Gate())
    let task = Task {
      var (iterator, count) = (source.makeAsyncIterator(), 0)
      while let event = try await iterator.next() {
        if count == 0 { await go.waitRegardless() }
        if event.data == "end" { break }
        count += 1
      }
      return count
    }
    let exchange = try await bench.transport.next()
    open(exchange)
    let event = Array("data: \(String(repeating: "x", count: 10_000))\n\n".utf8)
    var sent = 0
    while case .more = exchange.body(event) {
      sent += 1
      try #require(sent < 100)
    }
    go.open()
    try await exchange.resumed.wait()
    exchange.body(Array("data: end\n\n".utf8))
    #expect(try await task.value == sent + 1)
    try await exchange.cancelled.wait()
    #expect(await bench.isCleanAtLast())
  }

  @Test("an event that is too large ends the stream, without a reconnection")
  func tooLarge() async throws {
    let bench = try Bench()
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream", maxEventBytes: 100))
    let exchange = try await bench.transport.next()
    open(exchange, "data: a\n\ndata: " + String(repeating: "x", count: 100))
    #expect(await reading.task.value?.code == .eventTooLarge)
    #expect(reading.data == ["a"] && exchange.isCancelled)
    #expect(await bench.isCleanAtLast())
  }

  @Test("the end of the dispatcher ends the stream")
  func shutDown() async throws {
    let bench = try Bench()
    let reading = Reading(bench.dispatcher.events(from: "http://a/stream"))
    open(try await bench.transport.next(), "data: a\n\n")
    await reading.events.wait(for: 1)
    await bench.dispatcher.shutDown(.now)
    #expect(await reading.task.value?.code == .shutDown)
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a shutdown of the dispatcher, or of its shared gate, ends the wait to reconnect at once",
    arguments: [true, false])
  func shutDownWhileWaiting(isOwner: Bool) async throws {
    let bench = try Bench()
    let other = URLDispatcher(transport: ScriptedTransport(), sharing: bench.dispatcher.gate)
    let reading = Reading(try events(bench.dispatcher))
    let shared = Reading(try events(other, from: "http://127.0.0.1:1/stream"))
    let exchange = try await bench.transport.next()
    open(exchange, "retry: 60000\ndata: a\n\n")
    await reading.events.wait(for: 1)
    exchange.end()
    // Its timer is set, so it waits.
    try await bench.clock.timers(1)
    if isOwner {
      bench.dispatcher.beginShutDown(.drain)
    } else {
      bench.dispatcher.gate.close(.draining)
    }
    #expect(await reading.task.value?.code == .shutDown)
    shared.task.cancel()
    _ = await shared.task.value
    await other.shutDown(.now)
  }

  @Test("the events of a single response, whose head is examined first")
  func ofOneBody() async throws {
    let transport = ScriptedTransport { $0.respond(200, body: "data: a\n\nevent: x\ndata: b\n\ndata: c") }
    let bench = try Bench(transport: transport)
    var events: [ServerSentEvent] = []
    for try await event in try await bench.dispatcher.stream(for: bench.request()).body.events() {
      events.append(event)
    }
    #expect(events == [.init(data: "a"), .init(data: "b", name: "x")])
    #expect(await bench.isCleanAtLast())
  }
}
