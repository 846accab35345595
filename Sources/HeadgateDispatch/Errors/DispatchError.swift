import HeadgateThreads

/// Why a request or a permit did not come to its end: what happened, to which end-point, in which phase, after how
/// long, and what to do.
public struct DispatchError: HeadgateError {
  // One pointer wide: an error is carried through every result, and is hardly ever there.
  private final class Storage: Sendable {
    let code: Code
    let phase: Phase
    let endPoint: EndPoint?
    let waited: Duration
    let ran: Duration
    let detail: String
    let underlying: (any Error)?

    init(
      _ code: Code, _ phase: Phase, _ endPoint: EndPoint?, _ waited: Duration, _ ran: Duration, _ detail: String,
      _ underlying: (any Error)?
    ) {
      self.code = code
      self.phase = phase
      self.endPoint = endPoint
      self.waited = waited
      self.ran = ran
      self.detail = detail
      self.underlying = underlying
    }
  }

  private let storage: Storage

  /// What happened.
  public var code: Code { storage.code }

  /// How far it had come.
  public var phase: Phase { storage.phase }

  /// The end-point that it was for; nil when the URL names none.
  public var endPoint: EndPoint? { storage.endPoint }

  /// The time it waited for permits.
  public var waited: Duration { storage.waited }

  /// The time it ran, holding a permit.
  public var ran: Duration { storage.ran }

  /// More in words, from the transport or the system; may be empty. Control characters and others that are not seen
  /// stand in it as escapes, such as `\u{1B}`, wherever they came from.
  public var detail: String { storage.detail }

  /// The error that this one came from, where there is one.
  public var underlying: (any Error)? { storage.underlying }

  /// An error of a transport or of the dispatcher.
  public init(
    _ code: Code, phase: Phase = .waiting, endPoint: EndPoint? = nil, waited: Duration = .zero,
    ran: Duration = .zero, detail: String = "", underlying: (any Error)? = nil
  ) {
    storage = Storage(code, phase, endPoint, waited, ran, ShownText.of(detail), underlying)
  }

  /// The same error with what is known of the request that met it.
  func at(
    _ endPoint: EndPoint?, phase: Phase? = nil, waited: Duration? = nil, ran: Duration? = nil
  ) -> DispatchError {
    DispatchError(
      code, phase: phase ?? self.phase, endPoint: endPoint, waited: waited ?? self.waited, ran: ran ?? self.ran,
      detail: detail, underlying: underlying)
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// The same as ``underlying``.
  public var underlyingError: (any Error)? { underlying }

  /// For people: what is wrong, and what to do.
  public var description: String {
    let place = endPoint.map { "\($0): " } ?? ""
    let advice = code.advice.isEmpty ? "" : "; \(code.advice)"
    return place + account + advice
  }

  /// What happened, when and after how long; without the advice, which is for programmers.
  package var account: String {
    let more = detail.isEmpty ? "" : " (\(detail))"
    return "\(code.words) \(phase.words)\(more), after waiting \(waited.words) and running \(ran.words)"
  }
}

extension DispatchError {
  /// How far a request had come.
  public struct Phase: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics.
    public let description: String
    let words: String

    /// In the queue: nothing was sent.
    public static let waiting = Phase(description: "waiting", words: "while it waited for a permit")
    /// Interceptors are at work: before it is sent, or between two times.
    public static let intercepting = Phase(description: "intercepting", words: "in the hands of its interceptors")
    /// The host's name is looked up.
    public static let name = Phase(description: "name", words: "during the name look-up")
    /// The connection is made.
    public static let connecting = Phase(description: "connecting", words: "while connecting")
    /// A proxy is asked for its tunnel.
    public static let tunnelling = Phase(description: "tunnelling", words: "while the proxy was asked for a tunnel")
    /// The TLS handshake.
    public static let securing = Phase(description: "securing", words: "during the TLS handshake")
    /// The request's body is read and sent.
    public static let sending = Phase(description: "sending", words: "while the request's body was sent")
    /// The request is sent and the response's head awaited.
    public static let awaitingHead = Phase(description: "awaiting_head", words: "before the response's head")
    /// The response's body comes.
    public static let receiving = Phase(description: "receiving", words: "while the body came")
    /// The body is written to its file.
    public static let writing = Phase(description: "writing", words: "while writing the file")
  }
}

extension Duration {
  /// For people: milliseconds below a second, else seconds.
  var words: String {
    let milliseconds = wholeNanoseconds / 1_000_000
    return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds / 100 % 10) s"
  }
}
