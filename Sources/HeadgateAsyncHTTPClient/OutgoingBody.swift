#if AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore

/// A request's body as async-http-client reads it: a piece whenever the socket has room.
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
/// The client reads in a task of its own, which may still be in `next` when the attempt is over. So an attempt closes
/// its reader before the next one begins, and after that the reader takes nothing from the body.
final class BodyReader: Sendable {
  /// The body could not be read, or is no longer needed.
  struct Broken: Error {}

  private static let pieceSize = 64 * 1024

  private struct State {
    var isClosed = false
    var isReading = false
    var waiting: OneShot<Void>?
    var closing: OneShot<Void>?
  }

  private let source: RequestBodySource
  // Whether the server has refused the body.
  private let isAnswered: @Sendable () -> Bool
  private let closed = OneShot<Void>()
  private let state = Locked(State())

  init(_ source: RequestBodySource, isAnswered: @escaping @Sendable () -> Bool) {
    self.source = source
    self.isAnswered = isAnswered
  }

  func next() async throws -> ByteBuffer? {
    while true {
      let ready = OneShot<Void>()
      var piece = ByteBuffer()
      guard begins(ready) else { throw Broken() }
      let read = read(into: &piece, ready)
      guard ends(read) else { throw Broken() }
      switch read {
      case .bytes: return piece
      case .end: return nil
      case .wait: await ready.wait()
      case .failed:
        // An error now would discard the rest of the response.
        if isAnswered() { await closed.wait() }
        throw Broken()
      }
    }
  }

  private func read(into piece: inout ByteBuffer, _ ready: OneShot<Void>) -> BodyRead {
    var read = BodyRead.end
    piece.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { buffer in
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.pieceSize))
      read = source.read(into: room) { ready.set() }
      if case .bytes(let count) = read { return count }
      return 0
    }
    return read
  }

  private func begins(_ ready: OneShot<Void>) -> Bool {
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
    closing?.set()
    return goesOn
  }

  /// Stops reading. Suspends while a read is under way on another thread, which is always short.
  func close() async {
    let (waiting, closing) = state.withLock { state -> (OneShot<Void>?, OneShot<Void>?) in
      state.isClosed = true
      if state.isReading { state.closing = OneShot<Void>() }
      return (state.waiting.take(), state.closing)
    }
    waiting?.set()
    closed.set()
    await closing?.wait()
  }
}
#endif
