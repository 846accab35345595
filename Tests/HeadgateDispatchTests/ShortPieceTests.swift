import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Bodies in pieces of one byte, whose memory is that of the pieces rather than that of the bytes.
@Suite struct ShortPieceTests {
  // The memory of this many pieces is about that of the longest backlog.
  private static let most = 4_096

  /// Delivers pieces of one byte until the transport is paused. Returns their number.
  private func fill(_ exchange: ScriptedExchange) -> Int {
    var count = 1
    while exchange.body([1]) == .more, count <= Self.most { count += 1 }
    return count
  }

  @Test("a stream pauses at a server that sends single bytes before they take much memory, and resumes")
  func stream() async throws {
    let bench = try Bench()
    async let response = bench.dispatcher.stream(for: bench.request())
    let exchange = try await bench.transport.next()
    exchange.head()
    let body = try await response.body
    let count = fill(exchange)
    try #require(count <= Self.most)
    var iterator = body.makeAsyncIterator()
    for _ in 0..<count - 1 { _ = try await iterator.next() }
    #expect(exchange.resumed.isOpen)
    exchange.end()
    #expect(try await iterator.next() == [1])
    #expect(try await iterator.next() == nil)
  }

  @Test("so does a delegate that lags behind")
  func delegate() async throws {
    let bench = try Bench()
    let release = Gate()
    let listener = Listener { call, _ in if call == "response 200" { block(until: release) } }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    let count = fill(exchange)
    release.open()
    try #require(count <= Self.most)
    try await exchange.resumed.wait()
    exchange.end()
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.bytes.withLock { $0 } == count)
  }

  @Test("a body made of single bytes is read ahead only until they take much memory")
  func upload() {
    var pump = BodyPump(length: nil, isReplayable: false)
    var buffer = [UInt8](repeating: 0, count: 10)
    var isAsked = buffer.withUnsafeMutableBytes { pump.read(into: $0) {} }.1.asks != nil
    var count = 0
    while isAsked, count <= Self.most {
      count += 1
      isAsked = pump.put([1], of: 0).asks != nil
    }
    #expect(count <= Self.most && pump.bytes == count)
    #expect(buffer.withUnsafeMutableBytes { pump.read(into: $0) {} }.1.asks == 0)
  }
}
