#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore

/// A permit with one owner at a time: a call, a body, the body's reader, or the event loops. The last one returns it.
final class HeldPermit: Sendable {
  private let permit: Permit
  private let loops: any EventLoopGroup

  init(_ permit: Permit, _ loops: any EventLoopGroup) { (self.permit, self.loops) = (permit, loops) }

  deinit { permit.release() }

  /// Leaves the permit to the event loops after the client was told to cancel the request. The client does so on the
  /// connection's loop, which it does not name: when all loops have come by, the connection is closed. Loops that run
  /// no more drop the permit, which returns it too.
  func releaseAfterClosing() {
    for loop in loops.makeIterator() { loop.execute { withExtendedLifetime(self) {} } }
  }

  /// The same for a call that failed, perhaps because it was cancelled. Such a call returns a moment before the client
  /// tells the connection's loop, and nothing says when it has.
  func releaseAfterFailure() {
    for loop in loops.makeIterator() {
      loop.scheduleTask(in: .milliseconds(10)) { withExtendedLifetime(self) {} }
    }
  }
}

/// A response's body, which holds the permit until it has ended, was dropped or was cancelled.
final class PermittedBody: AsyncSequence, Sendable {
  private let unread: Locked<(body: HTTPClientResponse.Body, held: HeldPermit)?>

  init(_ body: HTTPClientResponse.Body, _ held: HeldPermit) { unread = Locked((body, held)) }

  deinit {
    var unread = unread.withLock { $0.take() }
    let held = unread?.held
    // First: the client cancels the request when nobody can read its body any more.
    unread = nil
    held?.releaseAfterClosing()
  }

  /// Hands over the body and its permit, once: a later iterator gets nothing.
  func makeAsyncIterator() -> Iterator { Iterator(reader: Reader(unread.withLock { $0.take() })) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader

    mutating func next() async throws -> ByteBuffer? { try await reader.next() }
  }

  fileprivate final class Reader {
    private var parts: HTTPClientResponse.Body.AsyncIterator?
    private var held: HeldPermit?

    init(_ unread: (body: HTTPClientResponse.Body, held: HeldPermit)?) {
      (parts, held) = (unread?.body.makeAsyncIterator(), unread?.held)
    }

    deinit { giveUp() }

    func next() async throws -> ByteBuffer? {
      guard var parts else { return nil }
      do {
        if let part = try await parts.next() { return part }
      } catch {
        giveUp()
        throw error
      }
      // The server is done with the request.
      (self.parts, held) = (nil, nil)
      return nil
    }

    /// The body first, as above.
    private func giveUp() {
      parts = nil
      held?.releaseAfterClosing()
      held = nil
    }
  }
}
#endif
