import HTTPTypes
import HeadgateFlow
import HeadgateThreads

/// Events from a server as they arrive, over as many connections as needed. See
/// ``URLDispatcher/events(from:policy:reconnection:maxEventBytes:)``.
public struct ServerSentEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  /// The error that ended the events early.
  public typealias Failure = DispatchError

  /// The default maximum length of an event: 8 MiB.
  public static let standardEventBytes = 8 << 20

  fileprivate let dispatcher: URLDispatcher
  fileprivate let request: Result<DispatchRequest, DispatchError>
  fileprivate let policy: LongRequestPolicy
  fileprivate let reconnection: EventReconnection?
  fileprivate let maxEventBytes: Int

  /// Creates an iterator with connections of its own. Each iterator sends the request, and receives all events.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads events one by one.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: ServerSentEvents
    private var connections: EventConnections
    private var pieces: StreamedBody.Iterator?
    private var parser: EventParser
    private var deadline: Deadline?
    private var isOver = false
    private var random = SystemRandom()

    fileprivate init(_ source: ServerSentEvents) {
      self.source = source
      let request = try? source.request.get()
      connections = EventConnections(
        request.flatMap { $0.mayReconnect ? source.reconnection : nil }, source.dispatcher.core.rateLimitFields)
      parser = EventParser(
        maxEventBytes: source.maxEventBytes, lastEventID: Self.field.flatMap { request?.headerFields[$0] } ?? "")
    }

    /// The next event; nil once there are no more.
    ///
    /// - Throws: `DispatchError`, once. After that there are no more events.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> ServerSentEvent? {
      guard !isOver else { return nil }
      // Unless an event arrives, the sequence ends here.
      isOver = true
      let request = try source.request.get()
      if deadline == nil { deadline = request.deadline.map { source.dispatcher.core.now + $0 } }
      while true {
        switch await turn(request) {
        case .event(let event):
          isOver = false
          connections.receive()
          return event
        case .end(let end):
          // Releases the connection and its permit.
          pieces = nil
          connections.askedTime = parser.reconnectionTime ?? connections.askedTime
          // Drops an incomplete event, and keeps the last identifier for the next connection.
          parser = EventParser(maxEventBytes: source.maxEventBytes, lastEventID: parser.lastEventID)
          switch connections.end(end, using: &random) {
          case .over: return nil
          case .fails(let error): throw error.at(error.endPoint ?? request.endPoint)
          case .again(let wait): try await pause(wait, request)
          }
        }
      }
    }

    private enum Turn {
      case event(ServerSentEvent)
      case end(EventConnections.End)
    }

    /// Returns the next event of the connection, or how the connection ended. Connects first if there is no connection.
    private nonisolated(nonsending) mutating func turn(_ request: DispatchRequest) async -> Turn {
      do throws(DispatchError) {
        if pieces == nil, let end = try await connect(request) { return .end(end) }
        guard let event = try await pieces?.next(of: &parser, isolation: #isolation) else { return .end(.whole) }
        return .event(event)
      } catch {
        return .end(.failed(error))
      }
    }

    private nonisolated(nonsending) mutating func connect(
      _ request: DispatchRequest
    ) async throws(DispatchError) -> EventConnections.End? {
      var request = request
      if let deadline { request.deadline = deadline - source.dispatcher.core.now }
      let id = parser.lastEventID
      if let field = Self.field { request.headerFields[field] = id.isEmpty ? nil : id }
      let response = try await source.dispatcher.stream(for: request, lane: .long, policy: source.policy)
      if let end = connections.answer(response.head) {
        response.body.cancel()
        return end
      }
      pieces = response.body.makeAsyncIterator()
      return nil
    }

    private nonisolated(nonsending) mutating func pause(
      _ wait: Duration, _ request: DispatchRequest
    ) async throws(DispatchError) {
      let (core, gate) = (source.dispatcher.core, source.dispatcher.gate)
      let end = core.now + wait
      // As between retries: no wait begins that would outlast the deadline.
      if let deadline, end >= deadline { throw DispatchError(.deadlineExceeded, endPoint: request.endPoint) }
      // The gate may be closed by another dispatcher that shares it.
      let waiter = Waiter.ofTask()
      core.closingWaits.enter(waiter)
      gate.closingWaits.enter(waiter)
      let outcome = await waiter.wait(until: end, on: gate.timers)
      core.closingWaits.leave(waiter)
      gate.closingWaits.leave(waiter)
      switch outcome {
      case .cancelled: throw DispatchError(.cancelled, endPoint: request.endPoint)
      case .woken: throw DispatchError(.shutDown, endPoint: request.endPoint)
      default: break
      }
    }

    private static let field = HTTPField.Name("Last-Event-ID")
  }
}

extension DispatchRequest {
  /// Whether an event stream may be requested again. A request that might change something on the server is sent only
  /// once.
  fileprivate var mayReconnect: Bool { method == .get && hasReplayableBody }
}

extension URLDispatcher {
  /// Server-sent events, according to WHATWG HTML, section 9.2.
  ///
  ///     for try await event in dispatcher.events(from: "https://example.com/stream") {
  ///       print(event.name, event.id, event.data)
  ///     }
  ///
  /// Nothing is sent before the first event is requested. If the stream of a GET ends or breaks off, the request is
  /// sent again. The wait before that is given by the server's `retry` field (3 s without one) or by its `Retry-After`.
  /// It grows after each connection without an event. A random part is added, so that not all clients reconnect at
  /// once. The repeated request carries `Last-Event-ID`; a request may also set this field for its first connection.
  /// Status 204 ends the events. Any status other than 200, and any content type other than `text/event-stream`, ends
  /// them with the error `noEventStream`; after 429, 502, 503 and 504 the request is sent again. A POST, such as a
  /// request to a language model, is sent once: the events end with its stream, or with an error.
  ///
  /// Each connection is a request in the long lane. Between connections no permit is held. A slow consumer slows the
  /// transfer down (``StreamedBody``). The request's `timeout` bounds the wait for each head, `idleTimeout` the silence
  /// of each stream, and `deadline` all connections and waits together. If the task is cancelled or the iterator is
  /// released, the connection ends at once and its permit is returned.
  ///
  /// - Parameters:
  ///   - request: The request, or its URL. `Accept: text/event-stream` and `Cache-Control: no-store` are added unless
  ///     it sets these fields.
  ///   - policy: What happens to a connection if the long lane is full. Under `enqueue` it waits for a place.
  ///   - reconnection: How to reconnect. Nil: never.
  ///   - maxEventBytes: The maximum length in bytes of a line and of an event's data. A longer one ends the events with
  ///     the error `eventTooLarge`.
  /// - Returns: The events. They end with a `DispatchError`: `noEventStream`, `eventTooLarge`, or an error of
  ///   ``stream(for:lane:policy:)`` that reconnecting would not resolve.
  public func events(
    from request: some RequestConvertible, policy: LongRequestPolicy = .enqueue,
    reconnection: EventReconnection? = EventReconnection(),
    maxEventBytes: Int = ServerSentEvents.standardEventBytes
  ) -> ServerSentEvents {
    let request = Result { () throws(DispatchError) in try request.makeRequest().forEvents }
    return ServerSentEvents(
      dispatcher: self, request: request, policy: policy, reconnection: reconnection, maxEventBytes: maxEventBytes)
  }
}

extension DispatchRequest {
  fileprivate var forEvents: DispatchRequest {
    var request = self
    if headerFields[.accept] == nil { request.headerFields[.accept] = "text/event-stream" }
    if headerFields[.cacheControl] == nil { request.headerFields[.cacheControl] = "no-store" }
    return request
  }
}
