import HTTPTypes
import HeadgateThreads

/// A request at its submission.
public struct RequestStart: Sendable {
  /// The request.
  public let request: ObservedRequest
  /// The time of the submission, by the dispatcher's clock.
  public let at: Deadline

  private(set) var added: [HTTPField] = []

  /// Sets a header field of the request, replacing its fields with that name: a trace context, a request number. The
  /// field is kept at redirects, including those to other servers (except `baggage`), and at retries. Fields can be set
  /// here but not read.
  ///
  /// - Parameters:
  ///   - name: The field's name.
  ///   - value: The field's value.
  public mutating func setHeaderField(_ name: HTTPField.Name, to value: String) {
    added.append(HTTPField(name: name, value: value))
  }
}

/// A request that begins to wait for a permit.
public struct WaitingStart: Sendable {
  /// Why a request waits. More reasons may be added.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    // A trivial value, so that passing a span on counts no references.
    private enum Word: String { case submission, redirect, retry, credential, range, interceptor }
    private let word: Word

    /// A word for logs and metrics.
    public var description: String { word.rawValue }

    /// It was submitted.
    public static let submission = Reason(word: .submission)
    /// A redirect leads to another end-point, or to the same one if each start is counted there.
    public static let redirect = Reason(word: .redirect)
    /// Another attempt is due.
    public static let retry = Reason(word: .retry)
    /// It is sent again with a credential, after interceptors have prepared it, or if each start is counted. Otherwise
    /// it keeps its permit.
    public static let credential = Reason(word: .credential)
    /// It asks for the rest of a body that the server has sent only a part of, or for all of it because the server has
    /// refused the rest, and each start is counted. Otherwise it keeps its permit.
    public static let range = Reason(word: .range)
    /// An interceptor had it sent again.
    public static let interceptor = Reason(word: .interceptor)
  }

  /// The end-point whose permit it needs.
  public let endPoint: EndPoint
  /// The reason.
  public let reason: Reason
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that backs off between two attempts.
public struct BackoffStart: Sendable {
  /// The end-point.
  public let endPoint: EndPoint
  /// The length of the backoff.
  public let duration: Duration
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that interceptors begin to process.
public struct InterceptingStart: Sendable {
  /// The work of the interceptors. More reasons may be added.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics.
    public let description: String

    /// They prepare the request.
    public static let preparation = Reason(description: "preparation")
    /// They review a response, and perhaps prepare the request again.
    public static let response = Reason(description: "response")
    /// They review a failure, and perhaps prepare the request again.
    public static let failure = Reason(description: "failure")
  }

  /// The end-point.
  public let endPoint: EndPoint
  /// The work.
  public let reason: Reason
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that is sent.
public struct ExchangeStart: Sendable {
  /// The request as it is sent, possibly changed by a redirect. ``ObservedRequest/id`` stays the same.
  public let request: ObservedRequest
  /// How many times it was sent before, for any reason: redirects, retries, credentials.
  public let resends: Int
  /// The number of concurrent requests that the end-point's limit allows at this time.
  public let limit: Int
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// The end of a span.
public struct SpanEnd: Sendable {
  /// The error. Nil if the span was completed.
  public let error: DispatchError?
  /// The status code. Nil if the response's head had not arrived.
  public let statusCode: Int?
  /// For a wait for a permit: what the request waited for when the wait began, as if it were the next in its line. Nil
  /// if it did not have to wait.
  public let waitReason: WaitReason?
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// The outcome of an exchange.
public struct ExchangeReport: Sendable {
  /// The start of the exchange.
  public let start: ExchangeStart
  /// The error. Nil if the response was complete.
  public let error: DispatchError?
  /// The status code. Nil if the response's head did not arrive.
  public let statusCode: Int?
  /// The time spent in each phase, as measured by the transport. All zero if the request ended before its exchange.
  public let times: ExchangeTimes
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}

/// The outcome of a request.
public struct RequestReport: Sendable {
  /// The request as it was last sent, or would have been.
  public let request: ObservedRequest
  /// The error. Nil if the response was complete.
  public let error: DispatchError?
  /// The last status code. Nil if the last exchange had no head of a response, or if there was no exchange.
  public let statusCode: Int?
  /// How many times it was sent; 0 if it never had a permit.
  public let exchanges: Int
  /// The time spent in each phase.
  public let times: DispatchTimes
  /// The time, by the dispatcher's clock.
  public let at: Deadline
}
