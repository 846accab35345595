import HTTPTypes
import HeadgateFlow
import HeadgateThreads

/// Events of a server, as they come, over as many connections as it takes: see
/// ``URLDispatcher/events(from:policy:reconnection:maxEventBytes:)-(DispatchRequest,_,_,_)``.
public struct ServerSentEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  /// What ends the events early.
  public typealias Failure = DispatchError

  /// The longest event that is taken unless another length is given: 8 MiB.
  public static let standardEventBytes = 8 << 20

  fileprivate let dispatcher: URLDispatcher
  fileprivate let request: Result<DispatchRequest, DispatchError>
  fileprivate let policy: LongRequestPolicy
  fileprivate let reconnection: EventReconnection?
  fileprivate let maxEventBytes: Int

  /// A reader with connections of its own: each of several sends the request, and gets all events.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads events one by one.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: ServerSentEvents
    private var connections: EventConnections
    private var events: BodyEvents.Iterator?
    private var lastEventID: String
    private var deadline: Deadline?
    private var hasBegun = false
    private var isOver = false
    private var random = SystemRandom()

    fileprivate init(_ source: ServerSentEvents) {
      self.source = source
      let request = try? source.request.get()
      connections = EventConnections(request.flatMap { $0.mayReconnect ? source.reconnection : nil })
      lastEventID = Self.field.flatMap { request?.headerFields[$0] } ?? ""
    }

    /// The next event; nil once there are no more.
    ///
    /// - Throws: ``DispatchError``, once; then there are no more events.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DispatchError) -> ServerSentEvent? {
      try await advance()
    }

    /// The next event; nil once there are no more. Throws as ``next(isolation:)``.
    public mutating func next() async throws(DispatchError) -> ServerSentEvent? { try await advance() }

    private nonisolated(nonsending) mutating func advance() async throws(DispatchError) -> ServerSentEvent? {
      guard !isOver else { return nil }
      // Whatever happens before an event comes ends the sequence.
      isOver = true
      let request = try source.request.get()
      begin(request)
      while true {
        switch await turn(request) {
        case .event(let event):
          isOver = false
          connections.receive()
          return event
        case .end(let end):
          closeConnection()
          switch connections.end(end, using: &random) {
          case .over: return nil
          case .fails(let error): throw error.at(error.endPoint ?? request.endPoint)
          case .again(let wait): try await rest(wait, request)
          }
        }
      }
    }

    private enum Turn {
      case event(ServerSentEvent)
      case end(EventConnections.End)
    }

    /// The next event of the connection, which is made first if there is none, or how it ended.
    private nonisolated(nonsending) mutating func turn(_ request: DispatchRequest) async -> Turn {
      do throws(DispatchError) {
        if events == nil, let end = try await connect(request) { return .end(end) }
        guard let event = try await events?.advance() else { return .end(.whole) }
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
      if let field = Self.field { request.headerFields[field] = lastEventID.isEmpty ? nil : lastEventID }
      let response = try await source.dispatcher.stream(for: request, lane: .long, policy: source.policy)
      if let end = connections.answer(response.head) {
        response.body.cancel()
        return end
      }
      events =
        BodyEvents(body: response.body, maxEventBytes: source.maxEventBytes, lastEventID: lastEventID)
        .makeAsyncIterator()
      return nil
    }

    /// Lets go of the connection and its permit, and keeps what the server has said for the next one.
    private mutating func closeConnection() {
      guard let parser = events?.parser else { return }
      events = nil
      lastEventID = parser.lastEventID
      connections.askedTime = parser.reconnectionTime ?? connections.askedTime
    }

    private nonisolated(nonsending) mutating func rest(
      _ wait: Duration, _ request: DispatchRequest
    ) async throws(DispatchError) {
      let (core, gate) = (source.dispatcher.core, source.dispatcher.gate)
      let end = core.now + wait
      // As between the attempts of a retry: a wait that would outlast the deadline is not begun.
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

    private mutating func begin(_ request: DispatchRequest) {
      guard !hasBegun else { return }
      hasBegun = true
      deadline = request.deadline.map { source.dispatcher.core.now + $0 }
    }

    private static let field = HTTPField.Name("Last-Event-ID")
  }
}

extension DispatchRequest {
  /// Whether a stream of events may be asked for again. What may change something at the server is sent once.
  fileprivate var mayReconnect: Bool { method == .get && hasReplayableBody }
}

extension URLDispatcher {
  /// Server-sent events of a URL: see ``events(from:policy:reconnection:maxEventBytes:)-(DispatchRequest,_,_,_)``.
  ///
  /// A text that is no URL is told by the first event that is asked for, with the error `invalidURL`.
  public func events(
    from url: String, policy: LongRequestPolicy = .enqueue, reconnection: EventReconnection? = EventReconnection(),
    maxEventBytes: Int = ServerSentEvents.standardEventBytes
  ) -> ServerSentEvents {
    let request = Result { () throws(DispatchError) in try DispatchRequest(url) }
    return ServerSentEvents(
      dispatcher: self, request: request.map(\.forEvents), policy: policy, reconnection: reconnection,
      maxEventBytes: maxEventBytes)
  }

  /// Server-sent events, after WHATWG HTML, section 9.2.
  ///
  ///     for try await event in dispatcher.events(from: "https://example.com/stream") {
  ///       print(event.name, event.id, event.data)
  ///     }
  ///
  /// Nothing is sent before the first event is asked for. A GET whose stream ends or breaks off is sent again: after the
  /// time that the server's `retry` field says (else 3 s), after its `Retry-After`, longer after each connection that brings no
  /// event, and always a random part longer, so that not all come back at once. It carries `Last-Event-ID` then, which a
  /// request may also set for its first connection. It ends with status 204. A status other than 200 ends it with the
  /// error `noEventStream`, and so does another content type than `text/event-stream`; 429, 502, 503 and 504 are asked
  /// again. A POST, as for the answer of a language model, is sent once: the events end with its stream, or with an error.
  ///
  /// Each connection is a request in the long lane, and no permit is held between two. A consumer that is slow holds the
  /// transfer back (``StreamedBody``). The request's `timeout` bounds the wait for each head, `idleTimeout` the silence of each
  /// stream, `deadline` all connections and waits together. Cancelling the task, or letting go of the iterator, ends the
  /// connection at once and gives its permit back.
  ///
  /// - Parameters:
  ///   - request: What to send; with `Accept: text/event-stream` and `Cache-Control: no-store` unless it says otherwise.
  ///   - policy: What becomes of a connection when the long lane has no place: under `enqueue` it waits for one.
  ///   - reconnection: How it is connected again; nil: it is not.
  ///   - maxEventBytes: The longest line and the longest data of an event that are taken, in bytes. What is longer ends
  ///     the events with the error `eventTooLarge`.
  /// - Returns: The events. They end with a ``DispatchError``: those of
  ///   ``stream(for:lane:policy:)`` that another connection would not mend, `noEventStream` and
  ///   `eventTooLarge`.
  public func events(
    from request: DispatchRequest, policy: LongRequestPolicy = .enqueue,
    reconnection: EventReconnection? = EventReconnection(),
    maxEventBytes: Int = ServerSentEvents.standardEventBytes
  ) -> ServerSentEvents {
    ServerSentEvents(
      dispatcher: self, request: .success(request.forEvents), policy: policy, reconnection: reconnection,
      maxEventBytes: maxEventBytes)
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
