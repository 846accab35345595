import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Stopping an end-point by hand, and cancelling many requests at once.
@Suite struct ByHandTests {
  @Test(
    "nothing starts at a stopped end-point; running requests finish, other end-points continue, and it resumes later")
  func pause() async throws {
    let bench = try Bench(requests: 2)
    let responses = Responses()
    let endPoint = try bench.request().endPoint
    bench.send(try bench.request("/1"), into: responses)
    bench.dispatcher.gate.stop(endPoint)
    #expect(bench.dispatcher.gate.isStopped(endPoint))
    bench.send(try bench.request("/2"), into: responses)
    bench.send(try bench.request("/other", host: "b"), into: responses)
    #expect(bench.counts.running == 2)
    bench.transport.takeStarted()?.respond()
    #expect(bench.transport.takeStarted()?.request.url == "http://b/other")
    #expect(bench.counts.waiting == 1)
    bench.dispatcher.gate.resume(endPoint)
    #expect(!bench.dispatcher.gate.isStopped(endPoint))
    #expect(bench.transport.takeStarted()?.request.url == "http://a/2")
    bench.dispatcher.dispose()
  }

  @Test("an end-point that is stopped before its first request stays stopped, even if it was forgotten")
  func pausedBefore() throws {
    let bench = try Bench()
    let responses = Responses()
    let endPoint = try bench.request().endPoint
    bench.dispatcher.gate.stop(endPoint)
    // More end-points than are remembered while idle.
    for number in 0..<1100 {
      bench.send(try bench.request(host: "h\(number)"), into: responses)
      bench.transport.takeStarted()?.respond()
    }
    bench.send(try bench.request(), into: responses)
    #expect(bench.counts.waiting == 1)
    bench.dispatcher.gate.resume(endPoint)
    #expect(bench.counts.running == 1)
    bench.transport.takeStarted()?.respond()
    #expect(bench.isClean())
  }

  @Test("a deadline passes at a stopped end-point")
  func deadline() throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.deadline = .seconds(3)
    bench.dispatcher.gate.stop(request.endPoint)
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(4))
    #expect(responses.last?.code == .deadlineExceeded)
    bench.dispatcher.gate.resume(request.endPoint)
    #expect(bench.isClean())
  }

  @Test("a draining dispatcher ends requests that wait at an end-point stopped before or after")
  func drainPaused() async throws {
    for pausesFirst in [true, false] {
      let bench = try Bench(requests: 1)
      let responses = Responses()
      let request = try bench.request()
      bench.send(request, into: responses)
      bench.send(request, into: responses)
      if pausesFirst { bench.dispatcher.gate.stop(request.endPoint) }
      bench.dispatcher.beginShutDown(.drain)
      if !pausesFirst { bench.dispatcher.gate.stop(request.endPoint) }
      #expect(responses.values.map(\.code) == [.shutDown])
      bench.transport.takeStarted()?.respond()
      await bench.dispatcher.shutDown(.drain)
      #expect(responses.count == 2)
    }
  }

  @Test("a redirect to a stopped end-point ends when the dispatcher drains")
  func redirectToPaused() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.dispatcher.gate.stop(try bench.request(host: "b").endPoint)
    bench.send(try bench.request(), into: responses)
    bench.dispatcher.beginShutDown(.drain)
    bench.transport.takeStarted()?.respond(302, [.location: "http://b/"])
    await bench.dispatcher.shutDown(.drain)
    #expect(responses.values.map(\.code) == [.shutDown])
  }

  @Test("cancelling by a tag ends all requests with it, waiting or running, and nothing else")
  func byTag() async throws {
    let bench = try Bench(requests: 2)
    let tagged = Responses()
    let others = Responses()
    for number in 0..<6 {
      var request = try bench.request("/\(number)")
      if number % 2 == 0 { request.tag = "page" }
      bench.send(request, into: number % 2 == 0 ? tagged : others)
    }
    #expect(bench.dispatcher.cancelAll(tag: "page") == 3)
    #expect(tagged.values.map(\.code) == [.cancelled, .cancelled, .cancelled])
    #expect(bench.dispatcher.cancelAll(tag: "page") == 0)
    #expect(bench.dispatcher.cancelAll(tag: "other") == 0)
    while let exchange = bench.transport.takeStarted() { if !exchange.cancelled.isOpen { exchange.respond() } }
    #expect(others.values.map(\.code) == [nil, nil, nil])
    #expect(bench.isClean())
  }

  @Test("cancelling by end-point ends everything there, also after a redirect, and waits for bare permits")
  func byEndPoint() async throws {
    let bench = try Bench(requests: 1)
    let here = Responses()
    let others = Responses()
    let permits = Outcomes<DispatchError.Code?>()
    bench.send(try bench.request(host: "b"), into: here)
    bench.send(try bench.request(), into: others)
    (try #require(bench.transport.takeStarted())).respond(302, [.location: "http://c/"])
    #expect(bench.transport.running(at: try bench.request(host: "c").endPoint) == 1)
    let endPoint = try bench.request(host: "c").endPoint
    bench.send(try bench.request(host: "c"), into: here)
    bench.dispatcher.gate.requestPermit(for: endPoint) { permits.add($0.code) }
    // A dispatcher cancels its own requests, a gate all requests.
    #expect(bench.dispatcher.cancelAll(to: endPoint) == 2)
    #expect(here.values.map(\.code) == [.cancelled, .cancelled])
    let permit = try #require(permits.last)
    #expect(permit == nil)
    let waiting = Outcomes<DispatchError.Code?>()
    bench.dispatcher.gate.requestPermit(for: endPoint) { waiting.add($0.code) }
    bench.dispatcher.gate.cancelAll(to: endPoint)
    #expect(others.count == 0)
    while let exchange = bench.transport.takeStarted() { exchange.respond() }
    #expect(others.values.map(\.code) == [nil])
  }
}
