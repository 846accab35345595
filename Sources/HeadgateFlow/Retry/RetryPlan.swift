import HeadgateThreads

/// Whether a failed attempt is followed by another, and when: the rules of a retry, as a value.
struct RetryPlan<Failure: Error>: Sendable {
  /// Of endless retries only so many of the last failures are kept.
  static var keptFailures: Int { 16 }

  enum Verdict: Equatable {
    case again(after: Duration)
    case end(FlowErrorCode)
  }

  let attempts: Int
  let backoff: Backoff
  let budget: RetryBudget?
  let deadline: Deadline

  private(set) var failed = 0
  private(set) var failures: [Failure] = []

  init(attempts: Int, backoff: Backoff, budget: RetryBudget?, deadline: Deadline) {
    self.attempts = attempts
    self.backoff = backoff
    self.budget = budget
    self.deadline = deadline
  }

  /// An attempt has failed.
  ///
  /// - Parameters:
  ///   - isRetryable: Whether another one makes sense.
  ///   - asked: How long the failure says to wait; nil for the back-off's own wait.
  mutating func fail(
    _ failure: Failure, isRetryable: Bool, asked: Duration?, now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Verdict {
    failed += 1
    if failures.count == Self.keptFailures { failures.removeFirst() }
    failures.append(failure)
    guard isRetryable else { return .end(.failed) }
    guard failed < attempts else { return .end(.attemptsExhausted) }
    let delay = max(asked ?? backoff.delay(after: failed, using: &random), .zero)
    // Who can't be back in time need not wait for it.
    guard now + delay < deadline else { return .end(.timedOut) }
    // Last, so that no token is taken for nothing.
    if let budget, !budget.withdraw() { return .end(.budgetExhausted) }
    return .again(after: delay)
  }

  func error(_ code: FlowErrorCode, since start: Deadline, now: Deadline) -> FlowError<Failure> {
    let decides = [.failed, .attemptsExhausted, .budgetExhausted].contains(code)
    return FlowError(
      code, failures: failures, inputs: Array(failed - failures.count..<failed),
      deciding: decides && !failures.isEmpty ? failures.count - 1 : nil, operation: "retry", waited: now - start)
  }
}
