/// The events in the body of one response, as they arrive. See ``StreamedBody/events(maxEventBytes:)``.
public struct BodyEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  /// The error that ended the body early.
  public typealias Failure = DispatchError

  let body: StreamedBody
  let maxEventBytes: Int

  /// Creates an iterator. Use only one: several iterators share the pieces of the body and would split events.
  public func makeAsyncIterator() -> Iterator {
    Iterator(pieces: body.makeAsyncIterator(), parser: EventParser(maxEventBytes: maxEventBytes))
  }

  /// Reads a body event by event.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var pieces: StreamedBody.Iterator
    fileprivate var parser: EventParser

    /// The next event; nil at the end of the body. An event that is incomplete at the end is discarded.
    ///
    /// - Throws: `DispatchError`: `eventTooLarge`, which also cancels the request; `cancelled` if the task is
    ///   cancelled; or the error that ended the body early.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> ServerSentEvent? {
      try await pieces.next(of: &parser, isolation: actor)
    }
  }
}

extension StreamedBody {
  /// The body as server-sent events, each delivered as soon as it is complete. Use this to check the response's head
  /// before reading the events. The body is read once, without reconnecting. To reconnect, use
  /// ``URLDispatcher/events(from:policy:reconnection:maxEventBytes:)``.
  ///
  /// - Parameter maxEventBytes: The maximum length in bytes of a line and of an event's data; 8 MiB by default. A
  ///   longer one ends the request with the error `eventTooLarge`.
  public func events(maxEventBytes: Int = ServerSentEvents.standardEventBytes) -> BodyEvents {
    BodyEvents(body: self, maxEventBytes: maxEventBytes)
  }
}
