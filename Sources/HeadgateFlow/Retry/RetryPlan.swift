import HeadgateThreads

/// The rules of a retry as a value: whether and when a failed attempt is followed by another.
struct RetryPlan: Sendable {
  /// How many of the last failures are kept, which bounds the memory of endless retries.
  static let keptFailures = 16

  enum Verdict: Equatable {
    case again(after: Duration)
    case end(FlowError.Code)
  }

  let attempts: Int
  let backoff: Backoff
  let budget: RetryBudget?
  let deadline: Deadline

  private(set) var failed = 0
  private(set) var failures: [any Error] = []

  /// Records a failed attempt.
  ///
  /// - Parameters:
  ///   - isRetryable: Whether another attempt makes sense.
  ///   - asked: The wait that the failure asks for; nil for the back-off's wait.
  mutating func fail(
    _ failure: any Error, isRetryable: Bool, asked: Duration?, now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Verdict {
    failed += 1
    if failures.count == Self.keptFailures { failures.removeFirst() }
    failures.append(failure)
    guard isRetryable else { return .end(.failed) }
    guard failed < attempts else { return .end(.attemptsExhausted) }
    let delay = max(asked ?? backoff.delay(after: failed, using: &random), .zero)
    // Don't start a wait that would outlast the deadline.
    guard now + delay < deadline else { return .end(.timedOut) }
    // Checked last, so that no token is wasted.
    if let budget, !budget.withdraw() { return .end(.budgetExhausted) }
    return .again(after: delay)
  }

  func error(_ code: FlowError.Code, since start: Deadline, now: Deadline) -> FlowError {
    let decides = [.failed, .attemptsExhausted, .budgetExhausted].contains(code)
    return FlowError(
      code, failures: failures, inputs: Array(failed - failures.count..<failed),
      deciding: decides && !failures.isEmpty ? failures.count - 1 : nil, operation: "retry", waited: now - start)
  }
}
