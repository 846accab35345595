import HTTPTypes
import HeadgateThreads

/// A response's body as it comes: pieces of bytes in order, as large as the transport makes them.
///
/// While nobody reads, about half a megabyte waits in memory and the rest waits at the server: the transport stops reading the
/// socket, where it can (``TransportCapabilities/backPressure``; else the rest waits in memory too). One reader at a time; each piece goes to one reader only. Letting go of the body before its end cancels the
/// request and frees its permit; so does cancelling the task that waits for a piece.
public struct StreamedBody: AsyncSequence, Sendable {
  /// Bytes, never empty.
  public typealias Element = [UInt8]
  /// What ends a body early.
  public typealias Failure = DispatchError

  private let reader: Reader

  init(_ operation: DispatchOperation, _ sink: StreamingSink) {
    reader = Reader(operation, sink)
  }

  /// A reader. Several of them share the pieces: each goes to one.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// What took how long; nil until the transfer is over, which it is when the last piece has been read.
  public var times: DispatchTimes? { reader.times }

  /// The fields that came after the body. Empty until the transfer is over, which it is when the last piece has been read,
  /// when there were none, and from a transport that does not bring them.
  public var trailers: HTTPFields { reader.trailers }

  /// Reads the rest into memory.
  ///
  /// - Parameter cap: The most bytes that are taken.
  /// - Throws: ``DispatchError`` with `bodyTooLarge` beyond the cap (the request is cancelled then), or what ended the
  ///   body early.
  public func collect(upTo cap: Int) async throws(DispatchError) -> [UInt8] {
    var bytes: [UInt8] = []
    var iterator = makeAsyncIterator()
    while let piece = try await iterator.next(isolation: nil) {
      guard piece.count <= cap - bytes.count else {
        reader.operation.cancel()
        throw DispatchError(
          .bodyTooLarge, phase: .receiving, endPoint: reader.operation.endPoint, detail: "over \(cap) bytes")
      }
      bytes += piece
    }
    return bytes
  }

  /// Moves a short request that turns out to be a stream to the long lane: as ``URLDispatchOperation/moveToLong()``.
  ///
  /// - Returns: True if it runs in the long lane now. False if the lane has no place, or if the body has come to its end.
  @discardableResult
  public func moveToLong() -> Bool { reader.operation.moveToLong() }

  /// Ends the request: as cancelling its operation.
  public func cancel() { reader.operation.cancel() }

  /// Reads a body piece by piece.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader

    /// The next piece; nil at the end.
    ///
    /// - Throws: ``DispatchError``: `cancelled` when the task is, `idleTimedOut`, `connectionLost` and others when the
    ///   body broke off.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> [UInt8]? {
      try await reader.next()
    }

    /// The next piece; nil at the end. Throws as ``next(isolation:)``.
    public mutating func next() async throws(DispatchError) -> [UInt8]? { try await reader.next() }
  }

  /// Shared by a body and its iterators: the last one to go cancels what has not ended.
  fileprivate final class Reader: Sendable {
    let operation: DispatchOperation
    private let sink: StreamingSink

    init(_ operation: DispatchOperation, _ sink: StreamingSink) {
      self.operation = operation
      self.sink = sink
    }

    deinit { operation.cancel() }

    var times: DispatchTimes? { sink.times }
    var trailers: HTTPFields { sink.trailers }

    func next() async throws(DispatchError) -> [UInt8]? {
      let result = await withTaskCancellationHandler {
        await withContinuation { (continuation: CheckedContinuation<Result<[UInt8]?, DispatchError>, Never>) in
          if sink.next({ continuation.resume(returning: $0) }) { operation.resume() }
        }
      } onCancel: {
        operation.cancel()
      }
      return try result.get()
    }
  }
}
