import HeadgateThreads

/// Why a request or a permit failed: what happened, at which end-point, in which phase, after how long, and what to
/// do.
public struct DispatchError: HeadgateError {
  private struct Fields: Sendable {
    let code: Code
    let phase: Phase
    let endPoint: EndPoint?
    let waited: Duration
    let waitTimes: WaitTimes
    let ran: Duration
    let detail: String
    let underlyingError: (any Error)?
    let waitReason: WaitReason?
    let attempts: Int
    let wasAnswered: Bool
    let earlier: EarlierAttempts
  }

  // Boxed, so that it is one pointer wide: every result can hold an error, but errors are rare.
  private final class Storage: Sendable {
    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }
  }

  private let storage: Storage

  /// What happened.
  public var code: Code { storage.fields.code }

  /// How far the request had come.
  public var phase: Phase { storage.fields.phase }

  /// The end-point; nil if the URL has none.
  public var endPoint: EndPoint? { storage.fields.endPoint }

  /// The time spent waiting for permits.
  public var waited: Duration { storage.fields.waited }

  /// What it waited for in this time, as in `DispatchTimes.waited`. Empty for a bare permit.
  public var waitTimes: WaitTimes { storage.fields.waitTimes }

  /// The time spent running, with a permit.
  public var ran: Duration { storage.fields.ran }

  /// Details from the transport or the system; may be empty. Control characters and invisible characters are escaped,
  /// such as `\u{1B}`, whatever their origin.
  public var detail: String { storage.fields.detail }

  /// The underlying error, if any.
  public var underlyingError: (any Error)? { storage.fields.underlyingError }

  /// What the request was waiting for when it failed. Nil if it was not waiting, or if it was cancelled. For
  /// `pausedUntil`, `unreachable` and `tooHeavy` it is the limit that caused the failure.
  public var waitReason: WaitReason? { storage.fields.waitReason }

  /// The number of times the request was sent; 0 if it never was, and for an error that is not a request's.
  package var attempts: Int { storage.fields.attempts }

  /// Whether a server may have processed the request and answered with a redirect, before a further request failed.
  package var wasAnswered: Bool { storage.fields.wasAnswered }

  /// What the attempts before the last one may have done at a server.
  package var earlier: EarlierAttempts { storage.fields.earlier }

  /// Creates an error, for a transport or the dispatcher.
  public init(
    _ code: Code, phase: Phase = .waiting, endPoint: EndPoint? = nil, waited: Duration = .zero,
    ran: Duration = .zero, detail: String = "", underlyingError: (any Error)? = nil
  ) {
    self.init(
      code, phase: phase, endPoint: endPoint, waited: waited, ran: ran, detail: detail,
      underlyingError: underlyingError,
      waitReason: nil)
  }

  /// Creates the error of a request that was waiting.
  package init(
    _ code: Code, phase: Phase = .waiting, endPoint: EndPoint? = nil, waited: Duration = .zero,
    waitTimes: WaitTimes = WaitTimes(), ran: Duration = .zero, detail: String = "",
    underlyingError: (any Error)? = nil, waitReason: WaitReason?, attempts: Int = 0, wasAnswered: Bool = false,
    earlier: EarlierAttempts = .unsent
  ) {
    storage = Storage(
      Fields(
        code: code, phase: phase, endPoint: endPoint, waited: waited, waitTimes: waitTimes, ran: ran,
        detail: ShownText.of(detail), underlyingError: underlyingError, waitReason: waitReason, attempts: attempts,
        wasAnswered: wasAnswered, earlier: earlier))
  }

  /// The same error with facts about the request added.
  package func at(
    _ endPoint: EndPoint?, phase: Phase? = nil, waited: Duration? = nil, waitTimes: WaitTimes? = nil,
    ran: Duration? = nil, attempts: Int? = nil, wasAnswered: Bool? = nil, earlier: EarlierAttempts? = nil
  ) -> DispatchError {
    DispatchError(
      code, phase: phase ?? self.phase, endPoint: endPoint, waited: waited ?? self.waited,
      waitTimes: waitTimes ?? self.waitTimes, ran: ran ?? self.ran, detail: detail, underlyingError: underlyingError,
      waitReason: waitReason, attempts: attempts ?? self.attempts,
      wasAnswered: wasAnswered ?? self.wasAnswered, earlier: earlier ?? self.earlier)
  }

  /// The same error with more ``detail``.
  package func adding(_ more: String) -> DispatchError {
    DispatchError(
      code, phase: phase, endPoint: endPoint, waited: waited, waitTimes: waitTimes, ran: ran,
      detail: detail.isEmpty ? more : "\(detail); \(more)", underlyingError: underlyingError, waitReason: waitReason,
      attempts: attempts, wasAnswered: wasAnswered, earlier: earlier)
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what went wrong, and what to do.
  public var description: String {
    let place = endPoint.map { "\($0): " } ?? ""
    let advice = code.advice.isEmpty ? "" : "; \(code.advice)"
    return place + account + advice
  }

  /// What happened, when and after how long, without the advice to programmers.
  package var account: String {
    let details = [detail, waitReason?.description ?? ""].filter { !$0.isEmpty }
    let more = details.isEmpty ? "" : " (\(details.joined(separator: "; ")))"
    return "\(code.words) \(phase.words)\(more), after waiting \(waited.words) and running \(ran.words)"
  }
}

extension DispatchError {
  /// How far a request has come.
  public struct Phase: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics.
    public let description: String
    package let words: String

    /// In the queue: nothing has been sent.
    public static let waiting = Phase(description: "waiting", words: "while it waited for a permit")
    /// In the interceptors: before the request is sent, or before it is sent again.
    public static let intercepting = Phase(description: "intercepting", words: "in an interceptor")
    /// Resolving the host name.
    public static let name = Phase(description: "name", words: "during the name look-up")
    /// Opening the connection.
    public static let connecting = Phase(description: "connecting", words: "while connecting")
    /// Opening a tunnel through a proxy.
    public static let tunnelling = Phase(description: "tunnelling", words: "while opening the proxy's tunnel")
    /// Performing the TLS handshake.
    public static let securing = Phase(description: "securing", words: "during the TLS handshake")
    /// Reading and sending the request's body.
    public static let sending = Phase(description: "sending", words: "while sending the request's body")
    /// Waiting for the response's head.
    public static let awaitingHead = Phase(description: "awaiting_head", words: "before the response's head")
    /// Receiving the response's body.
    public static let receiving = Phase(description: "receiving", words: "while receiving the body")
    /// Writing the body to its file.
    public static let writing = Phase(description: "writing", words: "while writing the file")
  }
}
