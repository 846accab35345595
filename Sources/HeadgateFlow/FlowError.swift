import HeadgateThreads

/// Why a flow function has no result.
///
///     do {
///       page = try await firstToSucceed(mirrors) { mirror in try await mirror.page() }
///     } catch let error as FlowError {
///       for failure in error.failures { … }  // each mirror's error, in input order
///     }
///
/// A function that ends because its task was cancelled throws `CancellationError` instead. A function that only waits
/// for one other function (`awaitCallback`, `waitForTask`, `withDeadline`) throws that function's error.
public struct FlowError: HeadgateError, CodedError {
  /// The reason.
  public let code: Code

  /// The errors of the functions: in the order of the inputs, whichever failed first; for a retry, in the order of the
  /// attempts.
  ///
  /// An input has no error here if it succeeded, was not started, or was cancelled before it ended.
  public let failures: [any Error]

  /// The input of each of ``failures``, counted from 0; for a retry, the attempt.
  public let inputs: [Int]

  /// The decisive error; nil if there is none (a deadline, a bad argument).
  public let failure: (any Error)?

  /// A readable name of the operation: `firstToSucceed of 3`.
  public let operation: String

  /// How long the operation had taken.
  public let waited: Duration

  /// How many bytes had been sent, counted from the start of the source; nil unless something was sent in chunks.
  /// Sending can resume from there.
  public let offset: Int?

  // The error of the source of elements or bytes, or of the place of delivery.
  private let obstacle: (any Error)?

  /// Creates an error with this code. `inputs` has the input of each failure; `deciding` is the index of the decisive
  /// failure.
  init(
    _ code: Code, failures: [any Error] = [], inputs: [Int]? = nil, deciding: Int? = nil, operation: String,
    waited: Duration = .zero, offset: Int? = nil, underlyingError: (any Error)? = nil
  ) {
    self.code = code
    self.failures = failures
    self.inputs = inputs ?? Array(failures.indices)
    failure = deciding.map { failures[$0] }
    self.operation = operation
    self.waited = waited
    self.offset = offset
    obstacle = underlyingError
  }

  /// The decisive error; otherwise the error of the source of elements or bytes, or of the delivery target. Nil if
  /// there is none.
  public var underlyingError: (any Error)? { failure ?? obstacle }

  /// A readable text: the operation, the reason, how long it took, what to do, and the errors with their own advice.
  public var description: String {
    let place = offset.map { " at byte \($0)" } ?? ""
    let cause = obstacle.map { " (\($0))" } ?? ""
    let event = "\(operation): \(code.reason.explanation)\(place) after \(waited.words)"
    return "\(event); \(code.reason.advice)\(list)\(cause)"
  }

  /// Lists at most five failures, so that the description stays one line.
  private var list: String {
    guard failures.count != 1 || inputs != [0] else { return " (\(failures[0]))" }
    guard !failures.isEmpty else { return "" }
    let some = zip(inputs, failures).prefix(5).map { "\($0): \($1)" }.joined(separator: "; ")
    return " (\(some)\(failures.count > 5 ? "; and \(failures.count - 5) more" : ""))"
  }
}

extension FlowError {
  /// The reason of a ``FlowError``. Later versions may add codes: handle those that you know, and treat all others as a
  /// failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// A function failed, which decided the outcome: see ``FlowError/failure``.
    public static let failed = Code("failed", "it failed", "see the failure")
    /// All functions failed: see ``FlowError/failures``.
    public static let allFailed = Code("all_failed", "all failed", "see the failures")
    /// So many functions failed that too few are left for the quorum.
    public static let quorumMissed = Code(
      "quorum_missed", "too few can still succeed", "see the failures, or require fewer successes")
    /// A callback function released its completion without calling it, so no answer can arrive any more.
    public static let completionReleased = Code(
      "completion_released", "the function released its completion without calling it",
      "find the path in the function that does not call it")
    /// The deadline passed first.
    public static let timedOut = Code(
      "timed_out", "the deadline passed", "allow more time, or check what takes so long")
    /// There was no function to run, and the operation has no result for that case.
    public static let noInput = Code("no_input", "there was nothing to run", "pass at least one input")
    /// A number is out of range.
    public static let invalidArgument = Code(
      "invalid_argument", "a number is out of range", "use limits of 1 or more, and no negative numbers")
    /// All allowed attempts failed: see ``FlowError/failures``.
    public static let attemptsExhausted = Code(
      "attempts_exhausted", "all attempts failed", "see the failures, or allow more attempts")
    /// The ``RetryBudget`` had no retry left.
    public static let budgetExhausted = Code(
      "budget_exhausted", "it failed, and the budget for retries is used up",
      "find out why so many calls fail; delay new work")
    /// Work of a ``SingleFlight`` requests its own key, and would wait for itself.
    public static let wouldDeadlock = Code(
      "would_deadlock", "the work would wait for itself", "request another key inside it, or call the function directly"
    )
    /// The source of elements or bytes failed: see ``FlowError/underlyingError``.
    public static let sourceFailed = Code("source_failed", "its source failed", "see the underlying error")
    /// The file is shorter than it was at the start.
    public static let sourceShrank = Code(
      "source_shrank", "the file became shorter while it was sent", "send it again when no program writes to it")
    /// The delivery target accepts no more calls: the loop has stopped, or the pool was disposed of.
    public static let undeliverable = Code(
      "undeliverable", "the delivery target no longer accepts calls", "keep the loop or pool alive as long as its work")
  }
}
