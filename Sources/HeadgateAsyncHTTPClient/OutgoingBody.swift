#if AsyncHTTPClient
import HeadgateDispatch
import NIOCore

/// A request's body as async-http-client asks for it: a piece whenever the socket has room.
struct OutgoingBody: AsyncSequence, Sendable {
  private static let pieceSize = 64 * 1024

  /// It could not be had.
  struct Broken: Error {}

  let source: RequestBodySource
  let exchange: ClientExchange

  func makeAsyncIterator() -> Iterator { Iterator(source: source, exchange: exchange) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let source: RequestBodySource
    fileprivate let exchange: ClientExchange

    mutating func next() async throws -> ByteBuffer? {
      while true {
        var piece = ByteBuffer()
        let ready = Signal()
        var read = BodyRead.end
        piece.writeWithUnsafeMutableBytes(minimumWritableBytes: OutgoingBody.pieceSize) { buffer in
          let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(OutgoingBody.pieceSize))
          read = source.read(into: room) { ready.send() }
          if case .bytes(let count) = read { return count }
          return 0
        }
        switch read {
        case .bytes: return piece
        case .end: return nil
        case .wait: await ready.wait()
        case .failed:
          // The server has answered, and wants no more of it: a failure now would take the rest of the answer away.
          if exchange.isAnswered { await exchange.untilOver() }
          throw Broken()
        }
      }
    }
  }
}
#endif
