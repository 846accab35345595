import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// How observers are called, and what they may do and see.
@Suite struct ObserverCallTests {
  private let recording = RecordingObserver()
  private let responses = Responses()

  @Test("a dispatcher without observers creates nothing for them")
  func none() throws {
    let bench = try Bench(observers: [])
    let operation = bench.send(try bench.request(), into: responses)
    #expect(operation.operation.observation == nil)
    bench.dispatcher.dispose()
  }

  @Test("an observer that declines a request is not called, and costs no more")
  func notInterested() throws {
    struct Deaf: DispatchObserver {
      func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
        if let name = HTTPField.Name("traceparent") { start.setHeaderField(name, to: "00-1-2-01") }
        return nil
      }
    }
    let bench = try Bench(observers: [Deaf()])
    let operation = bench.send(try bench.request(), into: responses)
    #expect(operation.operation.observation == nil)
    let sent = try #require(bench.transport.takeStarted()).request
    #expect(try sent.headerFields[#require(HTTPField.Name("traceparent"))] == "00-1-2-01")
    bench.dispatcher.dispose()
  }

  @Test("an observer's assignment at the end of an exchange applies to its request")
  func takesAWhile() throws {
    let bench = try Bench(observers: [recording])
    let operation = bench.send(try bench.request(), into: responses)
    let request = try #require(recording.requests.first)
    let clock = bench.clock
    request.onEvent { if $0.hasPrefix("-exchange") { clock.advance(by: .seconds(1)) } }
    try #require(bench.transport.takeStarted()).respond()
    #expect(operation.times?.total == .seconds(1))
    #expect(recording.violations == [])
    bench.dispatcher.dispose()
  }

  @Test("an observer that cancels its request inside a call is told after the call")
  func cancelsInside() throws {
    let bench = try Bench(observers: [recording])
    let operation = bench.send(try bench.request(), into: responses)
    let request = try #require(recording.requests.first)
    let told = Outcomes<Int>()
    request.onEvent { call in
      guard call == "-head 200" else { return }
      operation.cancel()
      told.add(request.calls.count)
    }
    let exchange = try #require(bench.transport.takeStarted())
    #expect(exchange.head(200) == .abort)
    #expect(recording.violations == [])
    #expect(told.values == [5])
    #expect(
      request.calls.suffix(5) == [
        "-head 200", "+body", "-body cancelled 200", "-exchange cancelled 200", "-request cancelled 200",
      ])
    #expect(bench.isClean())
  }

  @Test("two threads with events at once: one delivers both, in order")
  func twoThreads() async throws {
    let bench = try Bench(transport: ScriptedTransport(endsWhenCancelled: false), observers: [recording])
    let operation = bench.send(try bench.request(), into: responses)
    let request = try #require(recording.requests.first)
    let exchange = try #require(bench.transport.takeStarted())
    let (inside, goesOn) = (Gate(), Gate())
    request.onEvent { call in
      guard call == "-head 200" else { return }
      inside.open()
      block(until: goesOn)
    }
    let thread = try ManagedThread.spawn(name: "transport") { _ = exchange.head(200) }
    try await inside.wait()
    operation.cancel()
    // The caller has its result. The observer is still inside its call.
    #expect(responses.last?.code == .cancelled)
    #expect(request.calls.last == "-head 200")
    goesOn.open()
    _ = try await thread.value(until: .after(.seconds(60)))
    exchange.end()
    #expect(recording.violations == [])
    #expect(request.calls.last == "-request cancelled 200")
    #expect(bench.isClean())
  }

  @Test("a shutdown closes the transport only after the observers' last call has returned")
  func shutDownWaits() async throws {
    let bench = try Bench()
    let transport = ScriptedTransport()
    let sharing = URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, observers: [recording])
    let operation = sharing.dispatch(try bench.request()) { [responses] in responses.add($0) }
    let request = try #require(recording.requests.first)
    let exchange = try #require(transport.takeStarted())
    let (inside, goesOn) = (Gate(), Gate())
    request.onEvent { call in
      guard call == "-head 200" else { return }
      inside.open()
      block(until: goesOn)
    }
    let thread = try ManagedThread.spawn(name: "transport") { _ = exchange.head(200) }
    try await inside.wait()
    operation.cancel()
    sharing.beginShutDown(.drain)
    #expect(responses.last?.code == .cancelled)
    #expect(!transport.isShutDown)
    goesOn.open()
    _ = try await thread.value(until: .after(.seconds(60)))
    #expect(transport.isShutDown)
    await sharing.shutDown()
    #expect(recording.unfinished == 0)
  }

  @Test("calls are made without locks: inside them every query works, and blocking calls throw")
  func noLock() async throws {
    let bench = try Bench(observers: [recording])
    let blocked = Outcomes<DispatchError.Code?>()
    let request = try bench.request()
    let result = try await onThread { () throws(DispatchError) -> Int in
      let operation = bench.send(request, into: responses)
      recording.requests.first?.onEvent { _ in
        _ = bench.dispatcher.snapshot()
        bench.dispatcher.updateLimits { $0.total = 50 }
        _ = (operation.state, operation.endPoint, operation.error, operation.times)
        do throws(DispatchError) {
          _ = try bench.dispatcher.dispatchSynchronously(request)
        } catch {
          blocked.add(error.code)
        }
      }
      bench.transport.takeStarted()?.respond()
      return 1
    }
    #expect(try result.get() == 1)
    #expect(blocked.values == Array(repeating: .wouldBlock, count: 5))
    #expect(recording.violations == [])
    #expect(bench.isClean())
  }

  @Test("fields that an observer adds replace the request's own of that name, and follow a redirect")
  func fields() throws {
    let name = try #require(HTTPField.Name("X-Trace"))
    let tracing = RecordingObserver(fields: [HTTPField(name: name, value: "new")])
    let bench = try Bench(observers: [recording, tracing])
    var request = try bench.request()
    request.headerFields = [.accept: "text/plain", name: "old"]
    bench.send(request, into: responses)
    let first = try #require(bench.transport.takeStarted())
    #expect(first.request.headerFields == [.accept: "text/plain", name: "new"])
    first.respond(302, [.location: "http://b/"])
    let second = try #require(bench.transport.takeStarted())
    #expect(second.request.headerFields[name] == "new")
    second.respond()
    #expect(recording.requests.count == 1 && tracing.requests.count == 1)
    #expect(recording.requests[0].start.request.id == tracing.requests[0].start.request.id)
    #expect(recording.violations + tracing.violations == [])
  }

  @Test("several observers are called in their order")
  func order() throws {
    final class Named: DispatchObserver, RequestObserver {
      let name: String
      let told: Outcomes<String>
      init(_ name: String, _ told: Outcomes<String>) { (self.name, self.told) = (name, told) }
      func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }
      func waitingStarted(_ start: WaitingStart) { told.add("+waiting \(name)") }
      func waitingEnded(_ end: SpanEnd) { told.add("-waiting \(name)") }
      func requestEnded(_ report: RequestReport) { told.add("-request \(name)") }
    }
    let told = Outcomes<String>()
    let bench = try Bench(observers: ["a", "b", "c"].map { Named($0, told) })
    bench.send(try bench.request(), into: responses)
    (try #require(bench.transport.takeStarted())).respond()
    #expect(
      told.values == ["+waiting", "-waiting", "-request"].flatMap { call in ["a", "b", "c"].map { "\(call) \($0)" } })
    #expect(bench.isClean())
  }

  @Test("an observer that keeps a request does not keep its body")
  func body() throws {
    var request = try DispatchRequest("http://a/", method: .put, body: RequestBody("body"))
    request.tag = "t"
    request.priority = .low
    request.onUploadProgress = { _ in }
    let seen = ObservedRequest(request, .short, id: 1).request
    #expect(seen.body == nil && !seen.fields.hasBody && seen.onUploadProgress == nil)
    #expect((seen.tag, seen.priority, seen.method.rawValue, seen.url) == ("t", .low, "PUT", "http://a/"))
    request.body = nil
    #expect(ObservedRequest(request, .short, id: 1).request.storage === request.storage)
  }

  @Test("no text of an observer's data shows a credential, a field's value, a body or a query's values")
  func secrets() throws {
    let bench = try Bench(observers: [recording])
    var request = try DispatchRequest(
      "http://ada:hunter2@a/items?page=2&token=hunter2&hunter2&=hunter2#hunter2", method: .post,
      body: RequestBody("hunter2"))
    request.headerFields[.cookie] = "hunter2"
    bench.send(request, into: responses)
    (try #require(bench.transport.takeStarted())).respond(200, [.setCookie: "hunter2"], body: "hunter2")
    let recorded = try #require(recording.requests.first)
    let seen = recorded.start.request
    #expect("\(seen)" == "POST http://a/items")
    #expect(seen.url() == "http://a/items?page=REDACTED&token=REDACTED&REDACTED&=REDACTED")
    #expect(seen.url(showing: ["page"]) == "http://a/items?page=2&token=REDACTED&REDACTED&=REDACTED")
    var shown = ""
    for value in [seen, recorded.exchanges, recorded.waits.map { $0.start }] as [Any] {
      shown += "\(value)" + String(reflecting: value)
      dump(value, to: &shown)
    }
    if let end = recorded.end { dump(end, to: &shown) }
    dump(recorded.start, to: &shown)
    #expect(!shown.contains("hunter2"))
    #expect(shown.contains("POST http://a/items"))
  }

  @Test("a URL without a query, or with an empty one, is shown unchanged")
  func plainURLs() {
    #expect(RedactedURL.text(of: "http://a/b", showing: []) == "http://a/b")
    #expect(RedactedURL.text(of: "http://a/b?", showing: []) == "http://a/b?")
    #expect(RedactedURL.text(of: "http://a/b?x=1&&y=2?", showing: ["y"]) == "http://a/b?x=REDACTED&&y=2?")
  }
}
