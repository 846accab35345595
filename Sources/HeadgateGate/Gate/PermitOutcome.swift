/// How work with a permit went, as far as its end-point is concerned. See ``Permit/report(_:)``.
public struct PermitOutcome: Hashable, Sendable, CustomStringConvertible {
  let outcome: ExchangeOutcome

  /// The end-point did its part, whatever the result: an error that says nothing about its load is an answer too.
  ///
  /// Allows more concurrent work after a pause, and ends the breaker's count of failures. A learned limit that kept
  /// work from starting may rise.
  public static let answered = PermitOutcome(outcome: .answered)

  /// The end-point refused the work because this program asks too much of it, as a server does with the status 429.
  ///
  /// Pauses the first scope of the permit, or its end-point if it names none. With
  /// ``GateLimits/adaptive`` and without a wait, an end-point's learned limit is lowered instead.
  ///
  /// - Parameter wait: The time for which the end-point asks to be left alone. Nil, zero and less count as none: then
  ///   ``PausePolicy`` decides. It also bounds the wait.
  public static func refused(retryAfter wait: Duration? = nil) -> PermitOutcome {
    PermitOutcome(outcome: .refused(wait: wait))
  }

  /// The end-point can't serve anyone at present. A server says this with the status 503.
  ///
  /// Pauses the end-point, also if the permit names scopes. Without a wait, it does so only if several of the last
  /// reports were like this one; see ``PausePolicy/unavailableThreshold``.
  ///
  /// - Parameter wait: The time for which the end-point asks to be left alone. Nil, zero and less count as none.
  public static func unavailable(retryAfter wait: Duration? = nil) -> PermitOutcome {
    PermitOutcome(outcome: .unavailable(wait: wait))
  }

  /// The end-point could not be reached: no connection, or no answer on a new one. Counts as a failure for
  /// ``GateLimits/breaker``, and for nothing else.
  public static let unreachable = PermitOutcome(outcome: .unreachable())

  /// Its name, as in a program: `answered`, `refused(retryAfter: 5.0 seconds)`.
  public var description: String {
    switch outcome {
    case .refused(let wait?, _): "refused(retryAfter: \(wait))"
    case .refused: "refused"
    case .unavailable(let wait?, _): "unavailable(retryAfter: \(wait))"
    case .unavailable: "unavailable"
    case .unreachable: "unreachable"
    default: "\(outcome)"
    }
  }
}
