/// Why a call on a loop has no result.
public struct PerformError<Failure: Error>: HeadgateError, CodedError {
  /// The codes, the same for all failure types.
  public typealias Code = PerformErrorCode

  /// The reason.
  public let code: Code

  /// The error that the call threw; nil unless the code is ``PerformErrorCode/failed``.
  public let failure: Failure?

  /// Why the wait ended; nil if the code is ``PerformErrorCode/failed``.
  public let reason: WaitError?

  package init(_ code: Code, failure: Failure? = nil, reason: WaitError? = nil) {
    self.code = code
    self.failure = failure
    self.reason = reason
  }

  /// The error that the call threw, or the reason the wait ended.
  public var underlyingError: (any Error)? { failure ?? reason }

  /// A readable text: what happened, and what to do.
  public var description: String {
    code.reason.explanation + (underlyingError.map { ": \($0)" } ?? "")
  }
}

/// The reason of a ``PerformError``. The set is complete: the call failed, was not made, or has not ended.
public struct PerformErrorCode: ErrorCode, Hashable, Sendable, CustomStringConvertible {
  package let reason: Reason
  package init(reason: Reason) { self.reason = reason }

  /// The call was made and threw ``PerformError/failure``.
  public static let failed = PerformErrorCode("failed", "the call failed")
  /// The call was not made and will not be. ``PerformError/reason`` is `timedOut` or `cancelled` (it was withdrawn),
  /// `closed` (the loop stopped), `wouldDeadlock` or `onCooperativeThread`.
  public static let notCalled = PerformErrorCode("not_called", "the call was not made")
  /// The call had started when the wait ended (`timedOut`, `cancelled`). It continues, and its result is discarded.
  public static let stillRunning = PerformErrorCode(
    "still_running", "the call is still running, but the wait for it has ended")
}
