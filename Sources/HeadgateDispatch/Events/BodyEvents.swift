/// The events of one response's body, as they come: see ``StreamedBody/events(maxEventBytes:)``.
public struct BodyEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  /// What ends a body early.
  public typealias Failure = DispatchError

  let body: StreamedBody
  let maxEventBytes: Int
  var lastEventID = ""

  /// A reader. Several of them share the pieces of the body, and would cut events in two: make one.
  public func makeAsyncIterator() -> Iterator {
    Iterator(
      body: body, pieces: body.makeAsyncIterator(),
      parser: EventParser(maxEventBytes: maxEventBytes, lastEventID: lastEventID))
  }

  /// Reads a body event by event.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let body: StreamedBody
    fileprivate var pieces: StreamedBody.Iterator
    fileprivate(set) var parser: EventParser

    /// The next event; nil at the end of the body. What the end cuts off is no event.
    ///
    /// - Throws: ``DispatchError``: `eventTooLarge` (the request is cancelled then), `cancelled` when the task is, and
    ///   what broke the body off.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> ServerSentEvent? {
      try await advance()
    }

    /// The next event; nil at the end of the body. Throws as ``next(isolation:)``.
    public mutating func next() async throws(DispatchError) -> ServerSentEvent? { try await advance() }

    nonisolated(nonsending) mutating func advance() async throws(DispatchError) -> ServerSentEvent? {
      let body = body
      while true {
        if let event = try body.endingOnError({ () throws(DispatchError) in try parser.next() }) { return event }
        guard let piece = try await pieces.next(isolation: #isolation) else { return nil }
        parser.add(piece)
      }
    }
  }
}

extension StreamedBody {
  /// The body as server-sent events, each as soon as it is whole: for a response whose head is to be looked at first. It
  /// is read once; ``URLDispatcher/events(from:policy:reconnection:maxEventBytes:)-(DispatchRequest,_,_,_)`` connects
  /// again.
  ///
  /// - Parameter maxEventBytes: The longest line and the longest data of an event that are taken, in bytes; 8 MiB unless
  ///   given. What is longer ends the request with the error `eventTooLarge`.
  public func events(maxEventBytes: Int = ServerSentEvents.standardEventBytes) -> BodyEvents {
    BodyEvents(body: self, maxEventBytes: maxEventBytes)
  }
}
