import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The blocking form, and where it refuses to block.
@Suite struct SynchronousTests {
  @Test("a synchronous request returns head, body, URL and times")
  func whole() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request("/x")
    async let result = onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(request) }
    let exchange = try await bench.transport.next()
    bench.clock.advance(by: .seconds(2))
    exchange.respond(201, [.server: "test"], body: "hello")
    let response = try await result.get()
    #expect(response.statusCode == 201)
    #expect(response.headerFields[.server] == "test")
    #expect(response.text == "hello")
    #expect(response.url == "http://a/x")
    #expect(response.times.total == .seconds(2))
    #expect(bench.isClean())
  }

  @Test("a synchronous request accepts no body above its cap")
  func cap() async throws {
    let bench = try Bench(requests: 1)
    var request = try bench.request()
    request.maxBodyBytes = 3
    async let result = onThread { [request] () throws(DispatchError) in
      try bench.dispatcher.dispatchSynchronously(request)
    }
    try await bench.transport.next().respond(body: "four")
    #expect(try await result.code == .bodyTooLarge)
    #expect(bench.isClean())
  }

  @Test("a blocking call inside a task is refused: a synchronous request, and an enqueued one")
  func inTask() async throws {
    let bench = try Bench()
    let request = try bench.request()
    func synchronous() throws(DispatchError) { _ = try bench.dispatcher.dispatchSynchronously(request) }
    func enqueued() throws(DispatchError) { try bench.dispatcher.dispatch(enqueuing: request) { _ in } }
    do throws(DispatchError) {
      try synchronous()
      Issue.record("it blocked a cooperative thread")
    } catch {
      #expect(error.code == .wouldBlock)
      #expect(error.endPoint == request.endPoint)
    }
    #expect(throws: DispatchError.self) { try enqueued() }
    #expect(bench.isClean())
  }

  private static func attempt(_ dispatcher: URLDispatcher, _ codes: Outcomes<DispatchError.Code?>) {
    do throws(DispatchError) {
      _ = try dispatcher.dispatchSynchronously(DispatchRequest("http://a/"))
      codes.add(nil)
    } catch { codes.add(error.code) }
  }

  @Test("D54 a synchronous request in a callback of the same dispatcher is refused instead of hanging")
  func inCallback() async throws {
    let bench = try Bench(requests: 1)
    let (dispatcher, codes) = (bench.dispatcher, Outcomes<DispatchError.Code?>())
    let request = try bench.request()
    // A delegate's calls, on threads that may otherwise block.
    let listener = Listener { _, _ in Self.attempt(dispatcher, codes) }
    dispatcher.dispatchShort(request, delegate: listener)
    try await bench.transport.next().respond(body: "x")
    await codes.wait(for: 3)
    // A completion, on a thread of the transport.
    dispatcher.dispatch(request) { _ in Self.attempt(dispatcher, codes) }
    let exchange = try await bench.transport.next()
    try WorkerThread(name: "transport") { exchange.respond() }.join()
    await codes.wait(for: 4)
    // A completion inside the call that caused it.
    let held = try await dispatcher.gate.permit(for: request.endPoint)
    let waiting = dispatcher.dispatch(request) { _ in Self.attempt(dispatcher, codes) }
    try WorkerThread(name: "canceller") { waiting.cancel() }.join()
    await codes.wait(for: 5)
    // Those of permits.
    let permit = dispatcher.gate.requestPermit(for: request.endPoint) { _ in Self.attempt(dispatcher, codes) }
    try WorkerThread(name: "canceller") { permit.cancel() }.join()
    await codes.wait(for: 6)
    dispatcher.gate.requestPermit(for: request.endPoint) { result in
      Self.attempt(dispatcher, codes)
      _ = try? result.get().release()
    }
    try WorkerThread(name: "releaser") { held.release() }.join()
    await codes.wait(for: 7)
    #expect(codes.values.allSatisfy { $0 == .wouldBlock })
    // A delegate target's call.
    let target = Delivery.submitting { call in
      Self.attempt(dispatcher, codes)
      Task { call() }
    }
    let last = Listener()
    dispatcher.dispatchShort(request, delegate: last, on: target)
    let answered = try await bench.transport.next()
    try WorkerThread(name: "transport") { answered.respond() }.join()
    await last.calls.wait(for: 2)
    #expect(codes.values.allSatisfy { $0 == .wouldBlock })
    #expect(codes.count >= 8)
    await dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a synchronous request of one dispatcher works in a callback of another")
  func otherDispatcher() async throws {
    let (one, other) = (try Bench(), try Bench(transport: ScriptedTransport { $0.respond(body: "ok") }))
    let codes = Outcomes<DispatchError.Code?>()
    let listener = Listener { _, _ in Self.attempt(other.dispatcher, codes) }
    one.dispatcher.dispatchShort(try one.request(), delegate: listener)
    try await one.transport.next().respond()
    await codes.wait(for: 2)
    #expect(codes.values == [nil, nil])
    await listener.calls.wait(for: 2)
    #expect(one.isClean() && other.isClean())
  }

  @Test("D54 it is also refused in another dispatcher's callback that is nested inside one of its own")
  func nestedCallbacks() async throws {
    let one = try Bench(transport: ScriptedTransport { $0.respond() })
    let other = try Bench(transport: ScriptedTransport { $0.respond() })
    let codes = Outcomes<DispatchError.Code?>()
    let request = try one.request()
    // All are answered inside the call, so that the thread is in callbacks of both.
    try WorkerThread(name: "caller") {
      one.dispatcher.dispatch(request) { _ in
        other.dispatcher.dispatch(request) { _ in Self.attempt(one.dispatcher, codes) }
      }
    }.join()
    #expect(codes.values == [.wouldBlock])
    #expect(one.isClean() && other.isClean())
  }

  @Test("a thread may block again when a callback has returned")
  func afterCallback() async throws {
    let bench = try Bench(transport: ScriptedTransport { $0.respond() })
    let request = try bench.request()
    let result = try await onThread { () throws(DispatchError) in
      // The completion comes inside this call, on this thread.
      bench.dispatcher.dispatch(request) { _ in }
      return try bench.dispatcher.dispatchSynchronously(request)
    }
    #expect(result.code == nil)
  }

  @Test("cancelling the waiting thread cancels its request")
  func cancelledThread() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request()
    let thread = try ManagedThread.spawn(name: "blocking") { () throws(DispatchError) in
      try bench.dispatcher.dispatchSynchronously(request).statusCode
    }
    let exchange = try await bench.transport.next()
    thread.cancel()
    let error = await #expect(throws: JoinError<DispatchError>.self) { try await thread.value() }
    #expect(error?.failure?.code == .cancelled)
    try await exchange.cancelled.wait()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a synchronous request that is suspended under the policy `wait` keeps its place, and runs in its turn")
  func held() async throws {
    let bench = try Bench(requests: 1, waiting: 0, overflow: .wait)
    let request = try bench.request()
    let responses = Responses()
    bench.send(request, into: responses)
    async let result = onThread { () throws(DispatchError) in try bench.dispatcher.dispatchSynchronously(request) }
    while bench.counts.waiting == 0 { await Task.yield() }
    try await bench.transport.next().respond()
    try await bench.transport.next().respond(body: "mine")
    #expect(try await result.get().text == "mine")
    #expect(bench.isClean())
  }
}
