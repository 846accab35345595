import Foundation
import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Settling the true weight of a request without its operation.
@Suite struct SettlementTests {
  private let bench: Bench
  private let cost: HTTPField.Name
  private var request: DispatchRequest

  init() throws {
    bench = try Bench(requests: 4)
    cost = try #require(HTTPField.Name("X-Cost"))
    request = try bench.request()
    request.weights = ["tokens": 6]
    bench.dispatcher.setLimits(
      try EndPointLimits(requests: 4, budgets: [Budget("tokens", units: 10, per: .seconds(100))]), for: request.endPoint
    )
  }

  @Test("a header field settles the request at its head; the next one starts then")
  mutating func byHead() throws {
    request.settlement = { [cost] head in head[cost].flatMap { Int($0) }.map { ["tokens": $0] } }
    let responses = Responses()
    for _ in 0..<2 { bench.send(request, into: responses) }
    let first = try #require(bench.transport.takeStarted())
    #expect(bench.transport.takeStarted() == nil)
    first.head(200, [cost: "4"])
    let second = try #require(bench.transport.takeStarted())
    first.end()
    // It was settled once.
    #expect(try responses.last?.get().settle(["tokens": 1]) == false)
    second.respond()
    #expect(bench.isClean())
  }

  @Test("a download is settled by its response, once")
  func download() async throws {
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    async let file = bench.dispatcher.download(for: request, to: .replacing(path))
    try await bench.transport.next().respond(body: "text")
    let response = try await file
    let responses = Responses()
    bench.send(request, into: responses)
    #expect(bench.transport.takeStarted() == nil)
    #expect(response.settle(["tokens": 4]))
    try #require(bench.transport.takeStarted()).respond()
    #expect(!response.settle(["tokens": 1]))
    #expect(await bench.isCleanAtLast())
  }

  /// Reports the weight that the server says.
  private struct Settling: RequestInterceptor {
    let cost: HTTPField.Name

    func prepare(_ request: inout DispatchRequest, _ interception: Interception) {
      request.settlement = { [cost] head in head[cost].flatMap { Int($0) }.map { ["tokens": $0] } }
    }
  }

  @Test("an interceptor settles all requests")
  func byInterceptor() async throws {
    let bench = try Bench(requests: 4, interceptors: [Settling(cost: cost)])
    bench.dispatcher.setLimits(
      try EndPointLimits(requests: 4, budgets: [Budget("tokens", units: 10, per: .seconds(100))]), for: request.endPoint
    )
    let responses = Responses()
    for _ in 0..<2 { bench.send(request, into: responses) }
    let first = try await bench.transport.next()
    #expect(bench.transport.takeStarted() == nil)
    first.head(200, [cost: "4"])
    let second = try await bench.transport.next()
    first.end()
    second.respond()
    // Waits for the thread that submitted the second request, which may still report why it had to wait.
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a response settles its request, buffered or streamed; a response without a weight settles nothing")
  mutating func byResponse() async throws {
    let (dispatcher, request) = (bench.dispatcher, request)
    let first = Task { try await dispatcher.data(for: request) }
    try await bench.transport.next().respond()
    let response = try await first.value
    let second = Task { try await dispatcher.stream(for: request) }
    while bench.counts.waiting == 0 { await Task.yield() }
    #expect(response.settle(["tokens": 1]) && !response.settle(["tokens": 1]))
    let exchange = try await bench.transport.next()
    exchange.head(200)
    let stream = try await second.value
    #expect(stream.settle(["tokens": 9]) && !stream.settle(["tokens": 1]))
    exchange.end()
    #expect(try await stream.body.collect(upTo: 10).isEmpty)
    let plain = try bench.request()
    let third = Task { try await dispatcher.data(for: plain) }
    try await bench.transport.next().respond()
    #expect(try await third.value.settle(["tokens": 1]) == false)
    #expect(await bench.isCleanAtLast())
  }
}
