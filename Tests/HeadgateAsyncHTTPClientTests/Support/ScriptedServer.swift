#if AsyncHTTPClient
import HeadgateTesting
import HeadgateThreads
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A server with one socket, over TCP, TLS or a Unix-domain socket, with scripted answers.
final class ScriptedServer: Sendable {
  /// A request as received, and its position on its connection.
  struct Request: Sendable {
    let head: HTTPRequestHead
    let bytes: Int
    /// The first one on its connection is 1.
    let number: Int
    let connection: Int
  }

  /// When a request is answered.
  enum Moment: Sendable {
    /// When it is complete.
    case atEnd
    /// With its head. The body is read anyway.
    case atHead
    /// With its head, after a while in which nothing of the body is read, and nothing after it.
    case unread
  }

  enum Answer: Sendable {
    case respond(HTTPResponseStatus, body: String = "", trailers: HTTPHeaders? = nil)
    /// The beginning of a response that ends with the connection.
    case begin(body: String)
    case wait
    /// The end of the connection, unannounced.
    case close
  }

  fileprivate struct Counts: Sendable {
    var connections = 0
    var requests: [Request] = []
  }

  /// Opens at the first answer.
  let answered = Gate()

  private let channel: any Channel
  private let box: CountsBox

  var port: Int { channel.localAddress?.port ?? 0 }

  init(
    unixSocket path: String? = nil, tls: TLSConfiguration? = nil, at moment: Moment = .atEnd,
    answer: @escaping @Sendable (Request) -> Answer
  ) async throws {
    let context = try tls.map { try NIOSSLContext(configuration: $0) }
    let box = CountsBox(answered)
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
          try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
          try pipeline.addHandler(ServerConnection(box, moment, answer))
        }
      }
    channel =
      if let path {
        try await bootstrap.bind(unixDomainSocketPath: path).get()
      } else {
        try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
      }
    self.box = box
  }

  /// The data received so far.
  var requests: [Request] { box.counts.withLock { $0.requests } }
  var connections: Int { box.counts.withLock { $0.connections } }

  func stop() async { try? await channel.close().get() }
}

private final class CountsBox: Sendable {
  let answered: Gate

  init(_ answered: Gate) { self.answered = answered }

  let counts = Mutex(ScriptedServer.Counts())
}

private final class ServerConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let box: CountsBox
  private let moment: ScriptedServer.Moment
  private let answer: @Sendable (ScriptedServer.Request) -> ScriptedServer.Answer
  private var head: HTTPRequestHead?
  private var bytes = 0
  private var number = 0
  private var connection = 0

  init(
    _ box: CountsBox, _ moment: ScriptedServer.Moment,
    _ answer: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Answer
  ) {
    self.box = box
    self.moment = moment
    self.answer = answer
  }

  func channelActive(context: ChannelHandlerContext) {
    connection = box.counts.withLock { counts in
      counts.connections += 1
      return counts.connections
    }
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      (self.head, bytes) = (head, 0)
      number += 1
      switch moment {
      case .atEnd: break
      case .atHead: respond(context)
      case .unread:
        context.channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess { [self] in
          // As long as it takes the client to fill the system's buffers.
          _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(300)) { self.respond(context) }
        }
      }
    case .body(let piece): bytes += piece.readableBytes
    case .end:
      if let request { box.counts.withLock { $0.requests.append(request) } }
      if case .atEnd = moment { respond(context) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private var request: ScriptedServer.Request? {
    head.map { ScriptedServer.Request(head: $0, bytes: bytes, number: number, connection: connection) }
  }

  private func respond(_ context: ChannelHandlerContext) { if let request { send(answer(request), context) } }

  private func send(_ answer: ScriptedServer.Answer, _ context: ChannelHandlerContext) {
    defer { box.answered.open() }
    switch answer {
    case .close: context.close(promise: nil)
    case .wait: break
    case .begin(let body):
      context.write(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_0, status: .ok))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
    case .respond(let status, let body, let trailers):
      var head = HTTPResponseHead(version: .http1_1, status: status)
      if trailers == nil {
        head.headers.add(name: "Content-Length", value: "\(body.utf8.count)")
      } else {
        head.headers.add(name: "Transfer-Encoding", value: "chunked")
      }
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil) }
      context.writeAndFlush(wrapOutboundOut(.end(trailers)), promise: nil)
    }
  }
}
#endif
