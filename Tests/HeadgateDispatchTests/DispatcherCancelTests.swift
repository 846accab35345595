import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Section C of the cases: cancellation.
@Suite struct DispatcherCancelTests {
  @Test("a request that is cancelled while its transport takes it may have been sent")
  func cancelledWhileStarting() async throws {
    let transport = CancelledTransport()
    let dispatcher = URLDispatcher(transport: transport)
    let request = try DispatchRequest("http://a/", method: .post)
    transport.cancel.withLock { $0 = { dispatcher.gate.cancelAll(to: request.endPoint) } }
    let failure = await #expect(throws: DispatchError.self) { try await dispatcher.data(for: request) }
    #expect(failure?.code == .cancelled)
    #expect(failure?.phase == .awaitingHead)
    #expect(failure?.attempts == 1)
    transport.cancel.withLock { $0 = nil }
    await dispatcher.shutDown()
  }

  @Test("D23 a task that is cancelled before it submits ends at once and takes no place")
  func cancelledBefore() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request()
    let gate = Gate()
    let task = Task {
      await gate.waitRegardless()
      return try await bench.dispatcher.data(for: request)
    }
    task.cancel()
    gate.open()
    let result = await task.result
    #expect((result.failure as? DispatchError)?.code == .cancelled)
    #expect(bench.isClean())
  }

  @Test("D23 a task that is cancelled before it submits takes no place from others in a full queue")
  func cancelledBeforeFullQueue() async throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .dropOldest)
    let responses = Responses()
    for path in ["/running", "/waiting"] { bench.send(try bench.request(path), into: responses) }
    let request = try bench.request()
    for needsPermit in [false, true] {
      let gate = Gate()
      let task = Task {
        await gate.waitRegardless()
        guard needsPermit else { return _ = try await bench.dispatcher.data(for: request) }
        try await bench.dispatcher.gate.withPermit(for: request.endPoint) {}
      }
      task.cancel()
      gate.open()
      #expect((await task.result.failure as? DispatchError)?.code == .cancelled)
    }
    #expect(responses.count == 0)
    for _ in 0..<2 { bench.transport.takeStarted()?.respond() }
    #expect(responses.values.map(\.code) == [nil, nil])
    #expect(bench.isClean())
  }

  @Test("D24 a cancellation that overtakes the start makes the start do nothing, and the permit moves on")
  func cancelOvertakesStart() throws {
    // A grant is decided under the lock and delivered after it. A cancellation may come in between.
    var scheduler = Scheduler<String>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let endPoint = try EndPoint(host: "a", port: 1)
    guard case .accepted(let first) = scheduler.submit("first", to: endPoint, .short) else { throw Unexpected() }
    guard case .accepted = scheduler.submit("second", to: endPoint, .short) else { throw Unexpected() }
    guard case .waiting("first") = scheduler.withdraw(first) else { throw Unexpected() }
    guard case .start("second", let ticket) = scheduler.next() else { throw Unexpected() }
    #expect(!scheduler.hasEffects)
    #expect(scheduler.finish(ticket) == "second")
    #expect(scheduler.running == 0 && scheduler.waiting == 0)
  }

  @Test("D25 cancelling running and waiting requests together leaves the queue moving")
  func cancelBoth() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    let first = bench.send(try bench.request("/1"), into: responses)
    let second = bench.send(try bench.request("/2"), into: responses)
    bench.send(try bench.request("/3"), into: responses)
    _ = try await bench.transport.next()
    second.cancel()
    first.cancel()
    let third = try await bench.transport.next()
    #expect(third.request.url == "http://a/3")
    third.respond()
    #expect(responses.values.map(\.code) == [.cancelled, .cancelled, nil])
    #expect(bench.isClean())
  }

  @Test("D26 a cancellation while connecting is reported at once; the permit returns when the exchange is over")
  func cancelWhileConnecting() async throws {
    let bench = try Bench(requests: 1, transport: ScriptedTransport(endsWhenCancelled: false))
    let responses = Responses()
    let first = bench.send(try bench.request("/1"), into: responses)
    bench.send(try bench.request("/2"), into: responses)
    let exchange = try await bench.transport.next()
    first.cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(responses.values[0].error?.phase == .connecting)
    #expect(exchange.isCancelled)
    // The server may still see that connection, so no other request may have its place.
    #expect(bench.counts.running == 1)
    #expect(bench.transport.takeStarted() == nil)
    exchange.end(DispatchError(.cancelled))
    try await bench.transport.next().respond()
    #expect(responses.count == 2)
    #expect(bench.isClean())
  }

  @Test("D28 a cancellation and a response at the same instant cause exactly one end")
  func cancelAgainstResponse() async throws {
    let bench = try Bench(requests: 1)
    for _ in 0..<1_000 {
      let responses = Responses()
      let operation = bench.send(try bench.request(), into: responses)
      let exchange = try await bench.transport.next()
      let other = try WorkerThread(name: "canceller") { operation.cancel() }
      exchange.respond(body: "ok")
      other.join()
      await responses.wait(for: 1)
      #expect(responses.count == 1)
    }
    #expect(bench.counts.running == 0)
    #expect(bench.clock.pendingCount == 0)
  }

  @Test("D29 an immediate shutdown during submissions ends everything once")
  func shutdownAgainstSubmits() async throws {
    for _ in 0..<50 {
      let bench = try Bench(requests: 2)
      let responses = Responses()
      let request = try bench.request()
      let threads = try (0..<4).map { _ in
        try WorkerThread(name: "submitter") { for _ in 0..<50 { bench.send(request, into: responses) } }
      }
      await bench.dispatcher.shutDown(.now)
      for thread in threads { thread.join() }
      #expect(responses.count == 200)
      #expect(responses.values.allSatisfy { $0.code == .shutDown })
      #expect(bench.counts.running == 0 && bench.counts.waiting == 0)
    }
  }

  @Test("D32 a thousand requests of a task group end when their parent is cancelled")
  func cancelledGroup() async throws {
    let bench = try Bench(requests: 4)
    let request = try bench.request()
    let codes = Outcomes<DispatchError.Code?>()
    let task = Task {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<1_000 {
          group.addTask {
            do throws(DispatchError) { _ = try await bench.dispatcher.data(for: request) } catch {
              codes.add(error.code)
            }
          }
        }
      }
    }
    for _ in 0..<4 { _ = try await bench.transport.next() }
    task.cancel()
    await task.value
    #expect(codes.count == 1_000)
    #expect(codes.values.allSatisfy { $0 == .cancelled })
    #expect(bench.isClean())
  }

  @Test("D33 releasing an iterator before the end cancels the request and frees the permit")
  func droppedIterator() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request()
    let exchanges = Outcomes<ScriptedExchange>()
    var response: StreamedResponse? = try await withStream(bench, request) { exchange in
      exchange.head()
      exchange.body([1, 2, 3])
      exchanges.add(exchange)
    }
    var iterator = response?.body.makeAsyncIterator()
    response = nil
    #expect(try await iterator?.next() == [1, 2, 3])
    #expect(bench.counts.running == 1)
    iterator = nil
    #expect(exchanges.values[0].isCancelled)
    #expect(bench.isClean())
  }

  @Test("D55 D56 a cancellation that races with a release resumes its task once, and nothing is left")
  func cancelAgainstRelease() async throws {
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: ManualClock())
    let endPoint = try EndPoint(host: "a", port: 1)
    for _ in 0..<2_000 {
      let held = try await gate.permit(for: endPoint)
      let task = Task { try await gate.withPermit(for: endPoint) {} }
      let other = try WorkerThread(name: "releaser") { held.release() }
      task.cancel()
      _ = await task.result
      other.join()
    }
    #expect(gate.counts.running == 0 && gate.counts.waiting == 0)
  }
}

struct Unexpected: Error {}

extension Result {
  var failure: Failure? {
    if case .failure(let failure) = self { return failure }
    return nil
  }
}

/// Its exchanges are cancelled inside `start`, when a real one may have sent the request on a thread of its own.
private final class CancelledTransport: Transport {
  let cancel = LockedBox<(@Sendable () -> Void)?>(nil)

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    cancel.withLock { $0 }?()
    return Control(events)
  }

  private final class Control: ExchangeControl {
    private let events: any ExchangeEvents
    init(_ events: any ExchangeEvents) { self.events = events }
    func cancel() { events.ended(ExchangeEnd()) }
    func resume() {}
    var phase: DispatchError.Phase { .awaitingHead }
  }
}
