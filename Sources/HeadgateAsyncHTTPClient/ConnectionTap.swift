#if AsyncHTTPClient
import HeadgateThreads
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOSSL

/// Maps the number in a request's internal header field to its exchange.
final class ExchangeRegistry: Sendable {
  /// A field that no server sees: the tap in the connection's pipeline removes it.
  static let fieldName = "headgate-exchange"

  private struct State {
    var last = 0
    var exchanges: [Int: ClientExchange] = [:]
  }

  private let state = Locked(State())

  func add(_ exchange: ClientExchange) -> Int {
    state.withLock { state in
      state.last += 1
      state.exchanges[state.last] = exchange
      return state.last
    }
  }

  func remove(_ number: Int) { _ = state.withLock { $0.exchanges.removeValue(forKey: number) } }

  func exchange(_ number: Int) -> ClientExchange? { state.withLock { $0.exchanges[number] } }
}

/// A handler between the decompressor and async-http-client in a connection's pipeline. It reports to the current
/// exchange what the client's interface does not: when its request gets a connection (the end of the connect
/// timeout), the trailers, and when the connection is done with it.
///
/// It also handles responses that arrive before the request's body was sent. At a status of 300 or more the client
/// stops sending, reads the response and closes, but never resumes the task that waits to send (1.37). So the end of
/// such a response is passed to the client as an error, after the last byte of the body; an error does resume that
/// task.
final class ConnectionTap: ChannelDuplexHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The response was complete, but the request was not.
  struct AnswerIsWhole: Error, CustomStringConvertible {
    /// For an error: the client has dropped a part of the response.
    let description = "it closed before the response was read"
  }

  private let registry: ExchangeRegistry
  private var context: ChannelHandlerContext?
  private var current: ClientExchange?
  private var isUsed = false
  // Nothing more is sent: the connection is about to be closed.
  private var isRefused = false
  // For the current exchange.
  private var isRequestSent = false
  private var isAnswered = false
  private var isCutShort = false
  private var owesError = false
  // The end of a response that was complete before its request was written.
  private var owedEnd: NIOAny?
  private var isRequestWritten = false
  private var hasBody = false
  // A response that arrived before the whole request was sent.
  private var early: EarlyAnswer?

  private init(_ registry: ExchangeRegistry) { self.registry = registry }

  /// Adds a tap to a new connection, which the client has set up but not used yet.
  static func add(to channel: any Channel, _ registry: ExchangeRegistry) -> EventLoopFuture<Void> {
    do {
      let pipeline = channel.pipeline.syncOperations
      let decompressor = try pipeline.handler(type: NIOHTTPResponseDecompressor.self)
      try pipeline.addHandler(ConnectionTap(registry), position: .after(decompressor))
      return channel.eventLoop.makeSucceededVoidFuture()
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    let exchange = current.take()
    exchange?.leftConnection()
  }

  /// Closes the connection if the exchange still uses it.
  func close(for exchange: ClientExchange) {
    guard current === exchange, let context else { return }
    close(context: context, mode: .all, promise: nil)
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard current != nil else { return context.close(mode: mode, promise: promise) }
    // The decoder takes this end for that of a body without a length.
    if !isAnswered { early = nil }
    // In the middle of an exchange, TLS would wait for the server's `close_notify`, up to five seconds. Meanwhile the
    // client would count the connection as used, while the exchange's permit has moved on.
    if let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) {
      tls.close(mode: mode, promise: promise)
    } else {
      context.close(mode: mode, promise: promise)
    }
  }

  // MARK: The request

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !isRefused else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .head(var head):
      let number = head.headers.first(name: ExchangeRegistry.fieldName).flatMap { Int($0) }
      head.headers.remove(name: ExchangeRegistry.fieldName)
      (isRequestSent, isAnswered, isCutShort, owesError) = (false, false, false, false)
      (isRequestWritten, hasBody, early, owedEnd) = (false, false, nil, nil)
      current = number.flatMap { registry.exchange($0) }
      let hold = ConnectionHold(loop: context.eventLoop, tap: NIOLoopBound(self, eventLoop: context.eventLoop))
      // Without an exchange, or if the exchange has ended, nothing may reach the server.
      guard let current, current.isOnConnection(hold, isNew: !isUsed) else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return refuse(on: context.eventLoop)
      }
      isUsed = true
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .body:
      context.write(data, promise: promise)
    case .end:
      isRequestSent = true
      let written = context.eventLoop.makePromise(of: Void.self)
      let tap = NIOLoopBound(self, eventLoop: context.eventLoop)
      written.futureResult.whenSuccess { tap.value.requestIsWritten() }
      // After that, the next exchange may begin before the call to write returns.
      written.futureResult.cascade(to: promise)
      context.write(data, promise: written)
    }
  }

  /// The next exchange can't have begun: the client has not seen the end of a response that was complete before this.
  private func requestIsWritten() {
    isRequestWritten = true
    guard isAnswered, let exchange = current.take() else { return }
    if let end = owedEnd.take() {
      context?.fireChannelRead(end)
      context?.fireChannelReadComplete()
    }
    exchange.leftConnection()
  }

  /// Drops a request that is no longer wanted, and closes the connection. It is closed only after the current call,
  /// because the client does not expect that during the call.
  private func refuse(on loop: any EventLoop) {
    current = nil
    isRefused = true
    let tap = NIOLoopBound(self, eventLoop: loop)
    loop.execute { tap.value.context?.close(promise: nil) }
  }

  // MARK: The response

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      if head.status.code >= 300, !isRequestWritten { isCutShort = true }
      early = isRequestWritten ? nil : EarlyAnswer()
      context.fireChannelRead(data)
    case .body(let piece):
      hasBody = true
      early?.append(piece)
      context.fireChannelRead(data)
    case .end(let trailers):
      isAnswered = true
      current?.answerEnded(trailers, early.take())
      if isCutShort {
        owesError = true
        return
      }
      // The client continues to send, unless it believes that everything was sent: then it would use the connection
      // for the next request.
      guard isRequestWritten || !isRequestSent else { return owedEnd = data }
      let done = isRequestWritten ? current.take() : nil
      context.fireChannelRead(data)
      done?.leftConnection()
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The decompressor finds no compressed data where a response to HEAD, a 304 or an empty one declares it.
    if error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData, !hasBody { return }
    // The end of a body that can't be decompressed may follow.
    early = nil
    context.fireErrorCaught(error)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Body data received so far is passed on first: an error that overtakes it would discard it.
    context.fireChannelReadComplete()
    if owesError {
      owesError = false
      context.fireErrorCaught(AnswerIsWhole())
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if owesError { channelReadComplete(context: context) }
    if let end = owedEnd.take() { context.fireChannelRead(end) }
    let exchange = current.take()
    context.fireChannelInactive()
    exchange?.leftConnection()
  }
}

/// A handle with which an exchange closes its connection.
struct ConnectionHold: Sendable {
  fileprivate let loop: any EventLoop
  fileprivate let tap: NIOLoopBound<ConnectionTap>

  /// Closes the connection if the exchange still uses it: at once on the loop, otherwise asynchronously.
  func close(for exchange: ClientExchange) {
    if loop.inEventLoop { tap.value.close(for: exchange) } else { loop.execute { tap.value.close(for: exchange) } }
  }
}
#endif
