#if AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression
import Synchronization
import Testing

@testable import HeadgateAsyncHTTPClient

/// The server receives nothing of a request that reaches its connection late, unless its exchange still wants it. Its
/// permit may have been passed to another by then.
@Suite struct ConnectionTapTests {
  /// The state of an exchange when its request arrives.
  enum Condition: CaseIterable { case wanted, cancelled, over, forgotten }

  private func channel(_ registry: ExchangeRegistry) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try channel.pipeline.syncOperations.addHandler(NIOHTTPResponseDecompressor(limit: .none))
    try ConnectionTap.add(to: channel, registry).wait()
    return channel
  }

  @Test("a response that ends before its request was written ends for the client after that")
  func unwritten() throws {
    let registry = ExchangeRegistry()
    let exchange = ClientExchange(
      Exchange(request: try DispatchRequest("http://h/"), mayPause: false), Ignored(), registry)
    let channel = try channel(registry)
    let fields: HTTPHeaders = [ExchangeRegistry.fieldName: "\(registry.add(exchange))"]
    channel.write(
      HTTPClientRequestPart.head(HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/", headers: fields)),
      promise: nil)
    channel.write(HTTPClientRequestPart.end(nil), promise: nil)
    let head = HTTPClientResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok))
    try channel.writeInbound(head)
    try channel.writeInbound(HTTPClientResponsePart.end(nil))
    #expect(try channel.readInbound(as: HTTPClientResponsePart.self) == head)
    #expect(try channel.readInbound(as: HTTPClientResponsePart.self) == nil)
    channel.flush()
    channel.embeddedEventLoop.run()
    #expect(try channel.readInbound(as: HTTPClientResponsePart.self) == .end(nil))
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    "a request whose exchange was cancelled or has ended is not sent, and its connection is closed",
    arguments: Condition.allCases)
  func request(_ condition: Condition) throws {
    let registry = ExchangeRegistry()
    let request = try DispatchRequest("http://h/")
    let exchange = ClientExchange(Exchange(request: request, mayPause: false), Ignored(), registry)
    let number = registry.add(exchange)
    let channel = try channel(registry)
    switch condition {
    case .wanted: break
    case .cancelled: exchange.cancel()
    case .over: exchange.end(nil)
    case .forgotten: registry.remove(number)
    }
    let fields: HTTPHeaders = ["Host": "h", "Accept-Encoding": "gzip"]
    var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: fields)
    head.headers.add(name: ExchangeRegistry.fieldName, value: "\(number)")
    let isSent = Mutex(false)
    channel.writeAndFlush(HTTPClientRequestPart.head(head)).whenSuccess { isSent.withLock { $0 = true } }
    let end = channel.writeAndFlush(HTTPClientRequestPart.end(nil))
    channel.embeddedEventLoop.run()
    let written = try channel.readOutbound(as: HTTPClientRequestPart.self)
    if condition == .wanted {
      #expect(isSent.withLock { $0 })
      #expect(throws: Never.self) { try end.wait() }
      #expect(written == .head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: fields)))
      #expect(channel.isActive)
    } else {
      #expect(!isSent.withLock { $0 })
      #expect(throws: ChannelError.ioOnClosedChannel) { try end.wait() }
      #expect(written == nil)
      #expect(!channel.isActive)
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }
}

/// A listener for an exchange without an observer.
private final class Ignored: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow { .more }
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { .more }
  func ended(_ end: ExchangeEnd) {}
}
#endif
