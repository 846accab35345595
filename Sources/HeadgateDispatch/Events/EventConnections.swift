import HTTPTypes
import HeadgateThreads

/// Decides when an event stream reconnects. A value type: it takes how each connection was answered and how it ended,
/// and returns the next step. Follows WHATWG HTML, sections 9.2.2 and 9.2.3, and RFC 9110, section 10.2.3, for
/// `Retry-After`. No clock, no I/O.
struct EventConnections {
  /// How a connection ended.
  enum End {
    /// The stream ended normally.
    case whole
    /// The server asked the client to stop reconnecting: status 204.
    case noContent
    /// The server is not ready, and may have given a time to wait.
    case putOff(DispatchError, asked: Duration?)
    case failed(DispatchError)
  }

  enum Next {
    case again(after: Duration)
    case over
    case fails(DispatchError)
  }

  /// A random part is added to each wait: at most this fraction of it, and at most `longestJitter`. So clients that
  /// lost a server at the same time don't all return to it at the same time, and none returns before the requested
  /// time.
  static let jitter = 0.5
  static let longestJitter = Duration.seconds(30)
  /// The least value that is doubled, for a server that asks for no wait or a very short one.
  static let shortestDoubled = Duration.milliseconds(100)

  private let reconnection: EventReconnection?
  private let fields: RateLimitFields
  private var wasOpen = false
  private var bringsEvents = false
  /// The number of consecutive connections without an event.
  private(set) var fruitless = 0
  /// The wait requested by the server's `retry` field.
  var askedTime: Duration?

  /// - Parameters:
  ///   - reconnection: Nil for a single connection.
  ///   - fields: The fields that ask for a wait.
  init(_ reconnection: EventReconnection?, _ fields: RateLimitFields = .standard) {
    (self.reconnection, self.fields) = (reconnection, fields)
  }

  /// The response's head has arrived. Returns nil if an event stream follows.
  mutating func answer(_ head: ResponseHead) -> End? {
    switch head.statusCode {
    case 200 where Self.isEventStream(head[.contentType]):
      wasOpen = true
      return nil
    case 204: return .noContent
    case 429, 502, 503, 504:
      return .putOff(Self.error(head), asked: fields.wait(of: head).map { min($0, EventReconnection.maxRetry) })
    default: return .failed(Self.error(head))
    }
  }

  /// An event has arrived.
  mutating func receive() { bringsEvents = true }

  /// The connection has ended.
  mutating func end(_ end: End, using random: inout some RandomNumberGenerator) -> Next {
    fruitless = bringsEvents ? 0 : fruitless + 1
    bringsEvents = false
    switch end {
    case .noContent: return .over
    case .whole: return again(nil, using: &random) ?? .over
    case .putOff(let error, let asked): return again(asked, using: &random) ?? .fails(error)
    case .failed(let error) where isPassing(error): return again(nil, using: &random) ?? .fails(error)
    case .failed(let error): return .fails(error)
    }
  }

  private func again(_ asked: Duration?, using random: inout some RandomNumberGenerator) -> Next? {
    guard let reconnection, fruitless < reconnection.attempts else { return nil }
    var wait = max(askedTime ?? reconnection.wait, .zero)
    if fruitless > 1 {
      let doubled = max(wait, Self.shortestDoubled) * (1 << min(fruitless - 1, 20))
      wait = max(wait, min(doubled, reconnection.maxWait))
    }
    wait = max(wait, asked ?? .zero)
    let more = min(wait * Self.jitter, Self.longestJitter)
    return .again(after: wait + more * Double.random(in: 0..<1, using: &random))
  }

  /// Whether the error may be temporary. An error that prevents the first connection is reported. Once a stream was
  /// open, the same error is assumed to be temporary.
  private func isPassing(_ error: DispatchError) -> Bool {
    switch error.code {
    case .connectFailed, .connectTimedOut, .connectionLost, .idleTimedOut, .timedOut: true
    // A name that was never resolved is probably misspelled.
    case .nameNotResolved, .tlsFailed, .proxyFailed, .badResponse, .transportFailed, .refused, .displaced,
      .longLaneFull, .unreachable, .refusing:
      wasOpen
    default: false
    }
  }

  /// Whether a content type is `text/event-stream`, whatever its parameters.
  static func isEventStream(_ contentType: String?) -> Bool {
    guard let essence = contentType?.split(separator: ";", omittingEmptySubsequences: false).first else { return false }
    return essence.filter { $0 != " " && $0 != "\t" }.lowercased() == "text/event-stream"
  }

  private static func error(_ head: ResponseHead) -> DispatchError {
    let type = head[.contentType].map { "the content type \($0)" } ?? "no content type"
    return DispatchError(
      .noEventStream, phase: .awaitingHead, detail: head.statusCode == 200 ? type : "status \(head.statusCode)",
      underlyingError: NoEventStream(head: head))
  }
}

/// The response that arrived in place of an event stream.
public struct NoEventStream: HeadgateError {
  /// Its status and header fields.
  public let head: ResponseHead

  /// `no_event_stream`.
  public var codeName: String { "no_event_stream" }

  /// A readable text.
  public var description: String {
    "the server answered with status \(head.statusCode) and \(head[.contentType] ?? "no content type")"
  }
}
