/// Why a call on a loop brought no result. The three cases are all that can be: it failed, it was not made, or nobody
/// knows yet.
public enum PerformError<Failure: Error>: HeadgateError {
  /// The call was made and threw this.
  case failed(Failure)
  /// The call was not made and will not be: `timedOut` or `cancelled` (it was taken back), `closed` (the loop stopped),
  /// `wouldDeadlock`, `onCooperativeThread`.
  case notPerformed(WaitError)
  /// The call had started when the wait ended (`timedOut`, `cancelled`). It goes on, and its result is let go.
  case stillRunning(WaitError)

  /// The name of its case.
  public var codeName: String {
    switch self {
    case .failed: "failed"
    case .notPerformed: "not_performed"
    case .stillRunning: "still_running"
    }
  }

  /// What the call threw, or what ended the wait.
  public var underlyingError: (any Error)? {
    switch self {
    case .failed(let failure): failure
    case .notPerformed(let reason), .stillRunning(let reason): reason
    }
  }

  /// For people: what happened, and what to do.
  public var description: String {
    switch self {
    case .failed(let failure): "the call failed: \(failure)"
    case .notPerformed(let reason): "the call was not made: \(reason)"
    case .stillRunning(let reason): "the call goes on with nobody waiting for it: \(reason)"
    }
  }
}
