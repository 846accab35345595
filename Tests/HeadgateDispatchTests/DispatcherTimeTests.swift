import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Section D of the cases: time, on a clock that the test controls.
@Suite struct DispatcherTimeTests {
  @Test("D34 waiting never counts for the timeout: a request that waited longer than it still runs")
  func waitingIsNotTimeout() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var request = try bench.request()
    request.timeout = .seconds(1)
    var patient = request
    patient.timeout = nil
    bench.send(patient, into: responses)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    bench.clock.advance(by: .seconds(3600))
    #expect(responses.count == 0)
    first.respond()
    let second = try await bench.transport.next()
    bench.clock.advance(by: .milliseconds(999))
    second.respond(body: "in time")
    #expect(responses.values.compactMap { try? $0.get().statusCode } == [200, 200])
    #expect(bench.isClean())
  }

  @Test("D34 a deadline that passes in the queue ends the request there, and it is never sent")
  func deadlineInQueue() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var request = try bench.request()
    request.timeout = nil
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    request.deadline = .seconds(1)
    bench.send(request, into: responses)
    bench.clock.advance(by: .milliseconds(999))
    #expect(responses.count == 0)
    bench.clock.advance(by: .milliseconds(1))
    let error = try #require(responses.values.first?.error)
    #expect(error.code == .deadlineExceeded)
    #expect(error.phase == .waiting)
    #expect(error.waited == .seconds(1))
    #expect(error.ran == .zero)
    #expect(error.endPoint?.description == "a:80")
    #expect(
      error.description
        == "a:80: the deadline passed while it waited for a permit (limit 1/1), after waiting 1.0 s and running 0 ms; use a later deadline, or raise the end-point's limit"
    )
    #expect(bench.counts.waiting == 0)
    first.respond()
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test("D35 a deadline counts waiting and running together")
  func deadlineAcrossBoth() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var request = try bench.request()
    request.deadline = .seconds(1)
    var first = try bench.request()
    first.timeout = nil
    bench.send(first, into: responses)
    bench.send(request, into: responses)
    let running = try await bench.transport.next()
    bench.clock.advance(by: .milliseconds(700))
    running.respond()
    let second = try await bench.transport.next()
    bench.clock.advance(by: .milliseconds(299))
    #expect(responses.count == 1)
    bench.clock.advance(by: .milliseconds(1))
    let error = try #require(responses.values.last?.error)
    #expect(error.code == .deadlineExceeded)
    #expect(error.phase == .connecting)
    #expect((error.waited, error.ran) == (.milliseconds(700), .milliseconds(300)))
    #expect(second.isCancelled)
    #expect(bench.isClean())
  }

  @Test("a permit that comes with a hundredth of the deadline left is passed to a request that can still use it")
  func tooLate() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var first = try bench.request("/1")
    first.timeout = nil
    bench.send(first, into: responses)
    let running = try await bench.transport.next()
    var late = try bench.request("/2")
    late.deadline = .milliseconds(500)
    bench.send(late, into: responses)
    bench.send(try bench.request("/3"), into: responses)
    bench.clock.advance(by: .milliseconds(496))
    running.respond()
    let next = try await bench.transport.next()
    #expect(next.request.url == "http://a/3")
    #expect(responses.count == 1)
    bench.clock.advance(by: .milliseconds(4))
    let error = try #require(responses.values.last?.error)
    #expect(error.code == .deadlineExceeded)
    #expect(error.phase == .waiting)
    #expect((error.waited, error.ran) == (.milliseconds(500), .zero))
    next.respond()
    #expect(bench.isClean())
  }

  @Test("D36 limits below a second are exact", arguments: [1, 300, 1_900])
  func subSecond(milliseconds: Int) async throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.timeout = .milliseconds(milliseconds)
    bench.send(request, into: responses)
    _ = try await bench.transport.next()
    bench.clock.advance(by: .milliseconds(milliseconds) - .nanoseconds(1))
    #expect(responses.count == 0)
    bench.clock.advance(by: .nanoseconds(1))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(bench.isClean())
  }

  @Test("D37 limits in the far future never pass")
  func farFuture() async throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.timeout = .seconds(Int64.max)
    request.deadline = .seconds(Int64.max)
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(1_000_000_000))
    try await bench.transport.next().respond()
    #expect(responses.values.map(\.code) == [nil])
    #expect(bench.isClean())
  }

  @Test(
    "D37 a request whose time is over before it begins ends at once and is never sent, whichever method submits it",
    arguments: [Duration.zero, .seconds(-1)], [DispatchError.Code.timedOut, .deadlineExceeded])
  func overBefore(limit: Duration, code: DispatchError.Code) async throws {
    let sent = Outcomes<String>()
    let transport = ScriptedTransport { exchange in
      sent.add(exchange.request.url)
      exchange.respond()
    }
    let bench = try Bench(transport: transport)
    let dispatcher = bench.dispatcher
    var request = try bench.request()
    if code == .timedOut { request.timeout = limit } else { request.deadline = limit }
    let (late, responses, files, path) = (request, Responses(), Outcomes<DispatchError.Code?>(), "/tmp/never-written")
    for _ in 0..<2 {
      for lane in [RequestLane.short, .long] {
        let error = await #expect(throws: DispatchError.self) { try await dispatcher.data(for: late, lane: lane) }
        #expect(error?.code == code)
        #expect((error?.phase, error?.ran) == (.waiting, .zero))
        await #expect(throws: DispatchError.self) { try await dispatcher.stream(for: late, lane: lane) }
        await #expect(throws: DispatchError.self) {
          try await dispatcher.download(for: late, to: .replacing(path), lane: lane)
        }
        await #expect(throws: DispatchError.self) {
          try await dispatcher.upload(for: late, from: RequestBody("x"), lane: lane)
        }
      }
    }
    dispatcher.dispatch(late) { responses.add($0) }
    dispatcher.dispatch(late, lane: .long, policy: .fail) { responses.add($0) }
    await dispatcher.dispatch(enqueuing: late) { responses.add($0) }
    let thread = try ManagedThread.spawn(name: "late") {
      responses.add(Result { () throws(DispatchError) in try dispatcher.dispatchSynchronously(late) })
      try dispatcher.dispatch(enqueuing: late) { responses.add($0) }
    }
    try await thread.value()
    #expect(responses.values.map(\.code) == [code, code, code, code, code])
    dispatcher.dispatch(late, to: .replacing(path)) { files.add($0.error?.code) }
    dispatcher.dispatch(late, to: .replacing(path), lane: .long, policy: .fail) { files.add($0.error?.code) }
    await files.wait(for: 2)
    #expect(files.values == [code, code])
    let listener = Listener()
    dispatcher.dispatchShort(late, delegate: listener)
    try dispatcher.dispatchLong(late, delegate: listener)
    await listener.calls.wait(for: 2)
    #expect(listener.heard == ["failed \(code)", "failed \(code)"])
    #expect(sent.values == [])
    #expect(bench.isClean())
  }

  @Test("a permit that comes at the very deadline is passed on, however short the deadline is")
  func atTheDeadline() throws {
    let request = try DispatchRequest("http://a/")
    let deadline = Deadline.distantPast.advanced(byNanoseconds: 50)
    for (moment, isSent) in [(49, true), (50, false), (51, false)] {
      var state = OperationState(
        request, .short, isIntercepted: false, submitted: .distantPast, deadline: deadline)
      let launch = state.granted(
        Ticket(slot: 0, generation: 1), at: Deadline.distantPast.advanced(byNanoseconds: Int64(moment)))
      #expect((launch != nil) == isSent)
    }
  }

  @Test("D39 a server that trickles does not outlast the timeout")
  func trickle() async throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.timeout = .seconds(10)
    request.idleTimeout = .seconds(2)
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    exchange.head()
    for _ in 0..<9 {
      bench.clock.advance(by: .seconds(1))
      exchange.body([1])
    }
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(1))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(responses.values[0].error?.phase == .receiving)
    #expect(bench.isClean())
  }

  @Test(
    "D39 any received byte resets the idle limit: a part of the head too, with or without a body being sent")
  func heard() async throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.idleTimeout = .seconds(2)
    request.method = .put
    for body in [nil, RequestBody("x")] {
      request.body = body
      bench.send(request, into: responses)
      let exchange = try await bench.transport.next()
      _ = try await exchange.restOfBody()
      for _ in 0..<5 {
        bench.clock.advance(by: .milliseconds(1_900))
        exchange.reportActivity()
      }
      #expect(responses.count == (body == nil ? 0 : 1))
      bench.clock.advance(by: .seconds(2))
      #expect(responses.last?.code == .idleTimedOut)
    }
    // Without such a limit this has no effect.
    request.idleTimeout = nil
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    exchange.reportActivity()
    exchange.respond()
    #expect(bench.isClean())
  }

  @Test("D40 a long request's timeout ends at the head; then the idle limit applies, which is suspended during a pause")
  func longRequest() async throws {
    let bench = try Bench(requests: 2, long: 1)
    var request = try bench.request()
    request.timeout = .seconds(1)
    request.idleTimeout = .seconds(5)
    let exchanges = Outcomes<ScriptedExchange>()
    let response = try await withStream(bench, request, .long) {
      $0.head()
      exchanges.add($0)
    }
    let exchange = exchanges.values[0]
    for _ in 0..<100 {
      bench.clock.advance(by: .seconds(4))
      exchange.body([7])
    }
    // The reader reads nothing. The transport is told to pause, and no silence counts.
    #expect(exchange.body(Array(repeating: 1, count: StreamingSinkWater.high)) == .pause)
    bench.clock.advance(by: .seconds(3600))
    #expect(bench.counts.running == 1)
    var iterator = response.body.makeAsyncIterator()
    for _ in 0...100 { _ = try await iterator.next() }
    #expect(exchange.resumed.isOpen)
    bench.clock.advance(by: .seconds(4))
    #expect(bench.counts.running == 1)
    bench.clock.advance(by: .seconds(1))
    await #expect(throws: DispatchError.self) { _ = try await iterator.next() }
    #expect(exchange.isCancelled)
    #expect(bench.isClean())
  }

  @Test("D41 an error splits its time into waiting and running, and has the phase and the end-point")
  func split() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var request = try bench.request(host: "Example.COM.")
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    request.timeout = .seconds(2)
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(5))
    first.respond()
    _ = try await bench.transport.next()
    bench.clock.advance(by: .seconds(2))
    let error = try #require(responses.values.last?.error)
    #expect((error.waited, error.ran) == (.seconds(5), .seconds(2)))
    #expect(
      error.description.hasPrefix("example.com:80: timed out while connecting, after waiting 5.0 s and running 2.0 s"))
    #expect(bench.isClean())
  }

  @Test("D42 a redirect shares the deadline, and its timeout counts running only")
  func redirectSharesTime() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var blocker = try bench.request(host: "b")
    blocker.timeout = nil
    bench.send(blocker, into: responses)
    let blocking = try await bench.transport.next()
    var request = try bench.request(host: "a")
    request.timeout = .seconds(3)
    request.deadline = .seconds(60)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    bench.clock.advance(by: .seconds(2))
    first.respond(302, [.location: "http://b/"])
    bench.clock.advance(by: .seconds(50))
    #expect(responses.count == 0)
    blocking.respond()
    let second = try await bench.transport.next()
    bench.clock.advance(by: .milliseconds(999))
    #expect(responses.count == 1)
    bench.clock.advance(by: .milliseconds(1))
    let error = try #require(responses.values.last?.error)
    #expect(error.code == .timedOut)
    #expect((error.waited, error.ran) == (.seconds(50), .seconds(3)))
    #expect(error.endPoint?.host == "b")
    #expect(second.isCancelled)
    #expect(bench.isClean())
  }

  @Test("D44 a hundred thousand deadlines wait in one heap, and leave it when their requests end")
  func manyDeadlines() async throws {
    let bench = try Bench(requests: 1, waiting: 200_000)
    let responses = Responses()
    var request = try bench.request()
    request.deadline = .seconds(10)
    for _ in 0..<100_000 { bench.send(request, into: responses) }
    // One for each deadline, and the running request's timeout.
    #expect(bench.clock.pendingCount == 100_001)
    bench.clock.advance(by: .seconds(10))
    #expect(responses.count == 100_000)
    // The last permits may still be on their way back, on the thread that takes over long deliveries.
    await bench.dispatcher.shutDown()
    #expect(bench.isClean())
  }
}

enum StreamingSinkWater { static let high = 256 * 1024 }
