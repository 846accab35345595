/// Why a loop could not be run, or refused a call or a watch.
public struct LoopError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The loop has stopped.
    public static let stopped = Code("stopped", "it has stopped; create a new one")
    /// A loop can be run only by its own thread.
    public static let wrongThread = Code("wrong_thread", "only its own thread may run it; send work to it with perform")
    /// The calling thread must not block: see ``WaitError/Code/onCooperativeThread``.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread",
      "this thread must not block, because others depend on it; start a ThreadLoop with a thread of its own")
    /// The descriptor already has a watch for this direction.
    public static let alreadyWatched = Code(
      "already_watched", "the descriptor is already watched; cancel that watch first")
    /// The system cannot watch the descriptor, or has no descriptors left for the poller; see `errno`.
    public static let notWatchable = Code(
      "not_watchable",
      "the system refused; is the descriptor open, and a socket, pipe or terminal (plain files are always ready)?")
  }

  /// The reason.
  public var code: Code

  /// The loop's name.
  public var loop: String

  /// The system's error number; 0 if the system was not involved.
  public var errno: Int32

  /// Creates an error with this code.
  public init(_ code: Code, loop: String, errno: Int32 = 0) {
    self.code = code
    self.loop = loop
    self.errno = errno
  }

  /// A readable text: what failed, why, and what to do.
  public var description: String {
    "loop \"\(loop)\": \(code.reason.explanation)" + (errno == 0 ? "" : " (error \(errno))")
  }
}

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
