import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The two faces of the dispatcher: the same arguments, and URLs as text wherever a request is accepted.
@Suite struct FacesTests {
  private let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
  private let responses = Responses()
  private let files = Outcomes<Result<FileResponse, DispatchError>>()

  @Test("every verb of both faces accepts a URL as text")
  func text() async throws {
    let bench = try Bench(requests: 2, long: 1, transport: ScriptedTransport { $0.respond(body: "ok") })
    let (dispatcher, url) = (bench.dispatcher, "http://a/")
    defer { try? FileManager.default.removeItem(atPath: path) }
    for lane in [RequestLane.short, .long] {
      #expect(try await dispatcher.data(for: url, lane: lane, policy: .throw).text == "ok")
      #expect(try await dispatcher.stream(for: url, lane: lane).body.collect(upTo: 9) == Array("ok".utf8))
      #expect(try await dispatcher.download(for: url, to: .replacing(path), lane: lane).bytes == 2)
      let blocking = try await onThread { () throws(DispatchError) in
        try dispatcher.dispatchSynchronously(url, lane: lane, policy: .throw)
      }
      #expect(try blocking.get().text == "ok")
    }
    try dispatcher.dispatch(url) { [responses] in responses.add($0) }
    try dispatcher.dispatch(url, lane: .long, policy: .fail) { [responses] in responses.add($0) }
    await responses.wait(for: 2)
    for response in responses.values { #expect(try response.get().text == "ok") }
    try dispatcher.dispatch(url, to: .replacing(path)) { [files] in files.add($0) }
    await files.wait(for: 1)
    try dispatcher.dispatch(url, to: .replacing(path), lane: .long, policy: .fail) { [files] in files.add($0) }
    await files.wait(for: 2)
    for file in files.values { #expect(try file.get().bytes == 2) }
    let (short, long) = (Listener(), Listener())
    try dispatcher.dispatchShort(url, delegate: short)
    try dispatcher.dispatchLong(url, delegate: long)
    for listener in [short, long] {
      await listener.calls.wait(for: 3)
      #expect(listener.heard == ["response 200", "data 111", "finished"])
    }
    await dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("an invalid URL is thrown by every verb, and nothing else is called")
  func badText() async throws {
    let bench = try Bench()
    let (dispatcher, bad) = (bench.dispatcher, "nowhere")
    func code(_ work: () async throws -> Void) async -> DispatchError.Code? {
      do { try await work() } catch { return (error as? DispatchError)?.code }
      return nil
    }
    #expect(await code { _ = try await dispatcher.data(for: bad) } == .invalidURL)
    #expect(await code { _ = try await dispatcher.stream(for: bad) } == .invalidURL)
    #expect(await code { _ = try await dispatcher.download(for: bad, to: .numbered(path)) } == .invalidURL)
    #expect(await code { _ = try await dispatcher.upload(for: bad, from: RequestBody("x")) } == .invalidURL)
    let listener = Listener()
    #expect(await code { _ = try dispatcher.dispatchShort(bad, delegate: listener) } == .invalidURL)
    #expect(await code { _ = try dispatcher.dispatchLong(bad, delegate: listener, policy: .fail) } == .invalidURL)
    #expect(listener.heard == [])
    let blocking = try await onThread { () throws(DispatchError) in try dispatcher.dispatchSynchronously(bad) }
    #expect(blocking.code == .invalidURL)
    #expect(await code { try dispatcher.dispatch(bad) { [responses] in responses.add($0) } } == .invalidURL)
    #expect(
      await code { try dispatcher.dispatch(bad, to: .numbered(path)) { [files] in files.add($0) } } == .invalidURL)
    #expect(responses.count == 0 && files.values.isEmpty)
    #expect(bench.isClean())
  }

  @Test("a long request's caller or completion is told that its lane is full, unless it may wait for a place")
  func fullLane() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let request = try bench.request()
    bench.dispatcher.dispatch(request, lane: .long, policy: .fail) { [responses] in responses.add($0) }
    let first = try #require(bench.transport.takeStarted())
    for policy in [LongRequestPolicy.throw, .fail] {
      bench.dispatcher.dispatch(request, lane: .long, policy: policy) { [responses] in responses.add($0) }
      bench.dispatcher.dispatch(request, to: .numbered(path), lane: .long, policy: policy) { [files] in files.add($0) }
    }
    #expect(responses.values.map(\.code) == [.longLaneFull, .longLaneFull])
    await files.wait(for: 2)
    #expect(files.values.map(\.code) == [.longLaneFull, .longLaneFull])
    let refused = await #expect(throws: DispatchError.self) {
      try await bench.dispatcher.data(for: request, lane: .long, policy: .throw)
    }
    #expect(refused?.code == .longLaneFull)
    let noStream = await #expect(throws: DispatchError.self) {
      try await bench.dispatcher.stream(for: request, lane: .long, policy: .throw)
    }
    #expect(noStream?.code == .longLaneFull)
    bench.dispatcher.dispatch(request, lane: .long, policy: .enqueue) { [responses] in responses.add($0) }
    first.respond(body: "first")
    try #require(bench.transport.takeStarted()).respond(body: "second")
    #expect(try responses.values.suffix(2).map { try $0.get().text } == ["first", "second"])
    #expect(bench.isClean())
  }

  @Test("enqueuing to a file returns once the request is queued")
  func enqueued() async throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .wait)
    let request = try bench.request()
    for _ in 0..<2 {
      await bench.dispatcher.dispatch(enqueuing: request, to: .numbered(path)) { [files] in
        files.add($0)
      }
    }
    #expect((bench.counts.running, bench.counts.waiting) == (1, 1))
    for _ in 0..<2 { try await bench.transport.next().respond(404) }
    await files.wait(for: 2)
    #expect(try files.values.map { try $0.get().statusCode } == [404, 404])
    #expect(bench.isClean())
  }

  @Test("an upload replaces the request's body, and is a PUT unless another method is given")
  func upload() async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    for method in [HTTPRequest.Method.get, .post] {
      var request = try bench.request()
      request.method = method
      request.body = RequestBody("other")
      async let response = bench.dispatcher.upload(for: request, from: RequestBody("body")) { told.add($0) }
      let exchange = try await bench.transport.next()
      #expect(exchange.request.method == (method == .get ? .put : .post))
      #expect(try await exchange.restOfBody() == Array("body".utf8))
      exchange.respond(201)
      #expect(try await response.statusCode == 201)
    }
    #expect(told.values.map(\.bytes) == [4, 4])
    #expect(await bench.isCleanAtLast())
  }
}
