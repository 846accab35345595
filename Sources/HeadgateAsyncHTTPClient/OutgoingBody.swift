#if AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore

/// A request's body as async-http-client asks for it: a piece whenever the socket has room.
struct OutgoingBody: AsyncSequence, Sendable {
  let reader: BodyReader

  func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: BodyReader

    mutating func next() async throws -> ByteBuffer? { try await reader.next() }
  }
}

/// Reads the body for one attempt to send it.
///
/// The client asks in a task of its own, which may be in here when the attempt is over. So an attempt closes its reader
/// before another one begins, and from then on nothing is taken from the body in its name.
final class BodyReader: Sendable {
  /// The body could not be had, or nobody wants it any more.
  struct Broken: Error {}

  private static let pieceSize = 64 * 1024

  private struct State {
    var isClosed = false
    var isReading = false
    var waiting: Signal?
    var closing: Signal?
  }

  private let source: RequestBodySource
  // Whether the server has said that it does not want the body.
  private let isAnswered: @Sendable () -> Bool
  private let closed = Signal()
  private let state = Locked(State())

  init(_ source: RequestBodySource, isAnswered: @escaping @Sendable () -> Bool) {
    self.source = source
    self.isAnswered = isAnswered
  }

  func next() async throws -> ByteBuffer? {
    while true {
      let ready = Signal()
      var piece = ByteBuffer()
      guard begins(ready) else { throw Broken() }
      let read = read(into: &piece, ready)
      guard ends(read) else { throw Broken() }
      switch read {
      case .bytes: return piece
      case .end: return nil
      case .wait: await ready.wait()
      case .failed:
        // A failure now would take the rest of the answer away.
        if isAnswered() { await closed.wait() }
        throw Broken()
      }
    }
  }

  private func read(into piece: inout ByteBuffer, _ ready: Signal) -> BodyRead {
    var read = BodyRead.end
    piece.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { buffer in
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.pieceSize))
      read = source.read(into: room) { ready.send() }
      if case .bytes(let count) = read { return count }
      return 0
    }
    return read
  }

  private func begins(_ ready: Signal) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      (state.isReading, state.waiting) = (true, ready)
      return true
    }
  }

  private func ends(_ read: BodyRead) -> Bool {
    let (goesOn, closing) = state.withLock { state in
      state.isReading = false
      if read != .wait { state.waiting = nil }
      return (!state.isClosed, state.closing.take())
    }
    closing?.send()
    return goesOn
  }

  /// Ends the reading. Suspends while a read is under way on another thread, which never takes long.
  func close() async {
    let (waiting, closing) = state.withLock { state -> (Signal?, Signal?) in
      state.isClosed = true
      if state.isReading { state.closing = Signal() }
      return (state.waiting.take(), state.closing)
    }
    waiting?.send()
    closed.send()
    await closing?.wait()
  }
}
#endif
