import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The bound on the memory of all bodies, with a transport that the test controls.
@Suite struct BodyBudgetTests {
  private let clock = ManualClock()
  private let transport = ScriptedTransport()
  private let responses = Responses()
  private let dispatcher: URLDispatcher
  private static let piece = [UInt8](repeating: 1, count: 100_000)

  init() throws {
    dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 3)), timers: clock,
      logger: .silent, maxBodyMemory: 250_000)
  }

  private func start(_ timeout: Duration = .seconds(60)) throws -> ScriptedExchange {
    var request = try DispatchRequest("http://budget.example/")
    request.timeout = timeout
    dispatcher.dispatch(request) { [responses] in responses.add($0) }
    let exchange = try #require(transport.takeStarted())
    exchange.head()
    return exchange
  }

  @Test("above the bound all bodies but the oldest pause, and resume when it has ended")
  func pause() throws {
    let (eldest, second, third) = (try start(), try start(), try start())
    #expect(eldest.body(Self.piece) == .more)
    #expect(second.body(Self.piece) == .more)
    #expect(third.body(Self.piece) == .pause)
    #expect(eldest.body(Self.piece) == .more)
    #expect(second.body(Self.piece) == .pause)
    eldest.end()
    #expect(second.resumed.isOpen)
    #expect(!third.resumed.isOpen)
    second.end()
    #expect(third.resumed.isOpen)
    third.body(Self.piece)
    third.end()
    #expect(try responses.values.map { try $0.get().body.count } == [200_000, 200_000, 200_000])
    #expect(dispatcher.core.bodies.bytes == 0)
    #expect((dispatcher.gate.counts.running, clock.pendingCount) == (0, 0))
  }

  @Test("a body that turns out to be a stream no longer keeps short ones waiting")
  func movedToLong() throws {
    let request = try DispatchRequest("http://budget.example/")
    let operation = dispatcher.dispatch(request) { [responses] in responses.add($0) }
    let stream = try #require(transport.takeStarted())
    stream.head()
    for _ in 0..<3 { #expect(stream.body(Self.piece) == .more) }
    let short = try start()
    #expect(short.body(Self.piece) == .pause)
    #expect(operation.moveToLong())
    #expect(short.resumed.isOpen)
    #expect(short.body(Self.piece) == .more && stream.body(Self.piece) == .more)
    short.end()
    #expect(responses.count == 1)
    stream.end()
    #expect(dispatcher.core.bodies.bytes == 0)
  }

  @Test("time during which a body is paused in favour of others does not count")
  func timeout() throws {
    let eldest = try start(.seconds(100))
    let paused = try start(.seconds(5))
    for _ in 0..<3 { eldest.body(Self.piece) }
    clock.advance(by: .seconds(3))
    #expect(paused.body(Self.piece) == .pause)
    clock.advance(by: .seconds(60))
    #expect(responses.count == 0)
    eldest.end()
    clock.advance(by: .seconds(1))
    #expect(responses.count == 1)
    clock.advance(by: .seconds(1))
    #expect(responses.values.last?.code == .timedOut)
    #expect(clock.pendingCount == 0)
  }

  @Test("a cancelled body frees its memory while it is paused, and small bodies are not counted")
  func cancelled() throws {
    let small = try start()
    #expect(small.body([UInt8](repeating: 1, count: 64 * 1024)) == .more)
    #expect(dispatcher.core.bodies.bytes == 0)
    let (eldest, paused) = (try start(), try start())
    for _ in 0..<3 { eldest.body(Self.piece) }
    #expect(paused.body(Self.piece) == .pause)
    #expect(small.body([1]) == .pause)
    #expect(dispatcher.core.bodies.bytes == 465_537)
    dispatcher.cancelAll(to: paused.request.endPoint)
    #expect(responses.values.map(\.code) == [.cancelled, .cancelled, .cancelled])
    #expect(dispatcher.core.bodies.bytes == 0)
    #expect((dispatcher.gate.counts.running, clock.pendingCount) == (0, 0))
  }
}
