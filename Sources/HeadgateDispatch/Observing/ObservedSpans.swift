import HTTPTypes
import HeadgateThreads

/// A request at its submission.
public struct RequestStart: Sendable {
  /// The request.
  public let request: ObservedRequest
  /// When it is submitted, by the dispatcher's clock.
  public let at: Deadline

  private(set) var added: [HTTPField] = []

  init(_ request: ObservedRequest, at moment: Deadline) {
    self.request = request
    at = moment
  }

  /// Gives the request a header field, in the place of those of that name which it has: the context of a trace, a
  /// request's number. It goes along at redirects, to other servers too (but for `baggage`), and at retries. Fields can
  /// be set here and not read.
  ///
  /// - Parameters:
  ///   - name: The field's name.
  ///   - value: Its value.
  public mutating func setHeaderField(_ name: HTTPField.Name, to value: String) {
    added.append(HTTPField(name: name, value: value))
  }
}

/// A request that begins to wait for a permit.
public struct WaitingStart: Sendable {
  /// Why a request waits. More may be added.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    // A number, so that nothing is counted where a span is handed on.
    private enum Word: String { case submission, redirect, retry, credential, interceptor }
    private let word: Word

    /// A word for logs and metrics.
    public var description: String { word.rawValue }

    /// It was submitted.
    public static let submission = Reason(word: .submission)
    /// A redirect leads to another end-point, or to its own, where each start is counted.
    public static let redirect = Reason(word: .redirect)
    /// Another attempt is due.
    public static let retry = Reason(word: .retry)
    /// It is sent again with a credential, after interceptors have prepared it, or where each start is counted. Otherwise
    /// it keeps its permit.
    public static let credential = Reason(word: .credential)
    /// An interceptor had it sent again.
    public static let interceptor = Reason(word: .interceptor)
  }

  /// Whose permit it needs.
  public let endPoint: EndPoint
  /// Why.
  public let reason: Reason
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that rests between two attempts.
public struct RestingStart: Sendable {
  /// Where it failed, and where it is for.
  public let endPoint: EndPoint
  /// How long it is to rest.
  public let duration: Duration
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that interceptors begin to work on.
public struct InterceptingStart: Sendable {
  /// What interceptors do. More may be added.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics.
    public let description: String

    /// They prepare the request.
    public static let preparation = Reason(description: "preparation")
    /// They look at a response, and perhaps prepare the request again.
    public static let response = Reason(description: "response")
    /// They look at a failure, and perhaps prepare the request again.
    public static let failure = Reason(description: "failure")
  }

  /// Where the request is for.
  public let endPoint: EndPoint
  /// What they do.
  public let reason: Reason
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// A request that is sent.
public struct ExchangeStart: Sendable {
  /// The request as it is sent: after a redirect that which follows from it, with the same ``ObservedRequest/id``.
  public let request: ObservedRequest
  /// How often it was sent before, for whatever reason: redirects, retries, credentials.
  public let resends: Int
  /// How many requests at once the end-point's limit allows at this moment.
  public let limit: Int
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// The end of a span.
public struct SpanEnd: Sendable {
  /// Nil: it came to its end.
  public let error: DispatchError?
  /// The status code, where the response's head had come.
  public let statusCode: Int?
  /// Of a wait for a permit: what it waited for when it began to, as the next in its line. Nil where it did not have to
  /// wait.
  public let waitReason: WaitReason?
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// How an exchange went.
public struct ExchangeReport: Sendable {
  /// What it began with.
  public let start: ExchangeStart
  /// Nil: the response was whole.
  public let error: DispatchError?
  /// The status code; nil if the response's head did not come.
  public let statusCode: Int?
  /// What took how long, as the transport measured it. All zero where the request ended before its exchange had.
  public let times: ExchangeTimes
  /// When, by the dispatcher's clock.
  public let at: Deadline
}

/// How a request ended.
public struct RequestReport: Sendable {
  /// The request as it was sent last, or would have been.
  public let request: ObservedRequest
  /// Nil: the response was whole.
  public let error: DispatchError?
  /// The status code that came last; nil if the last exchange had no head of a response, or if there was none.
  public let statusCode: Int?
  /// How often it was sent; 0 for one that never had a permit.
  public let exchanges: Int
  /// What took how long.
  public let times: DispatchTimes
  /// When, by the dispatcher's clock.
  public let at: Deadline
}
