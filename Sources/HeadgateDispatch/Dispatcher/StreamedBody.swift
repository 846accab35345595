import HTTPTypes
import HeadgateThreads

/// A response body as it arrives: pieces of bytes in order, in the sizes that the transport delivers.
///
/// While the reader is idle, the body waits: about half a megabyte in memory, the rest at the server, because the
/// transport stops reading the socket. A transport without ``TransportCapabilities/backPressure`` keeps the rest in
/// memory too. Use one reader at a time; each piece goes to one reader only. The request is cancelled and its permit
/// freed if the body is released before its end, or if the task waiting for a piece is cancelled.
public struct StreamedBody: AsyncSequence, Sendable {
  /// Bytes, never an empty array.
  public typealias Element = [UInt8]
  /// The error that ended the body early.
  public typealias Failure = DispatchError

  private let reader: Reader

  init(_ operation: DispatchOperation, _ sink: StreamingSink) {
    reader = Reader(operation, sink)
  }

  /// Creates an iterator. Several iterators share the pieces: each piece goes to one of them.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// The time spent in each phase. Nil until the transfer is over, that is, until the last piece has been read.
  public var times: DispatchTimes? { reader.sink.times }

  /// The trailer fields. Empty until the transfer is over, that is, until the last piece has been read. Also empty if
  /// the server sent none, or if the transport does not support them.
  public var trailers: HTTPFields { reader.sink.trailers }

  /// Collects the rest of the body in memory.
  ///
  /// - Parameter cap: The maximum number of bytes.
  /// - Throws: `DispatchError`: `bodyTooLarge` beyond the cap, which also cancels the request, or the error that
  ///   ended the body early.
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

  /// Moves a short request that turns out to be a stream to the long lane. See ``URLDispatchOperation/moveToLong()``.
  ///
  /// - Returns: True if the request is now in the long lane. False if the lane is full, or if the body has ended.
  @discardableResult
  public func moveToLong() -> Bool { reader.operation.moveToLong() }

  /// Cancels the request, like ``URLDispatchOperation/cancel()``.
  public func cancel() { reader.operation.cancel() }

  var operation: DispatchOperation { reader.operation }

  /// Reads a body piece by piece.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader
    var operation: DispatchOperation { reader.operation }

    /// The next piece; nil at the end.
    ///
    /// - Throws: `DispatchError`: `cancelled` if the task is cancelled; `idleTimedOut`, `connectionLost` and others
    ///   if the body broke off.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> [UInt8]? {
      try await reader.next()
    }
  }

  /// Shared by a body and its iterators. Releasing the last of them cancels an unfinished request.
  fileprivate final class Reader: Sendable {
    let operation: DispatchOperation
    let sink: StreamingSink

    init(_ operation: DispatchOperation, _ sink: StreamingSink) {
      self.operation = operation
      self.sink = sink
    }

    deinit { operation.cancel() }

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
