import HeadgateThreads
import Synchronization

/// Calls a function again as long as it fails, with a growing, random wait between the attempts.
///
///     let page = try await retry(attempts: 5, backoff: .constant(.seconds(1))) { try await client.page(url) }
///
/// One attempt runs at a time; stack use does not depend on the number of attempts. No thread is blocked during a wait.
/// If the task is cancelled, no further attempt starts; a running one that ignores the cancellation is waited for.
///
/// - Parameters:
///   - attempts: The maximum number of attempts, including the first; 1 or more, `Int.max` for no limit.
///   - backoff: The wait between attempts.
///   - budget: The budget that each retry is taken from, shared by all calls to a service; nil for no limit. A call
///     makes one deposit.
///   - deadline: When to stop. A running attempt is cancelled and waited for, and a wait that would reach the deadline
///     is not started.
///   - timers: The clock of the waits and the deadline.
///   - discard: Receives a success that arrives after the deadline.
///   - predicate: Whether a failure is worth another attempt.
///   - delay: The wait that a failure asks for (such as a Retry-After header), in place of the back-off; nil for the
///     back-off.
///   - operation: The function to call. If its error type is spelled out, `predicate` and `delay` receive that type.
/// - Returns: The value of the first attempt that succeeded.
/// - Throws: ``FlowError``, with the failures of the last 16 attempts: `failed` (not worth another attempt),
///   `attemptsExhausted`, `budgetExhausted`, `timedOut`, `invalidArgument`. `CancellationError` if the task was
///   cancelled: at once during a wait, otherwise after the attempt has ended.
nonisolated(nonsending)
  public func retry<Success: Sendable, Failure: Error>(
    attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = nil,
    until deadline: Deadline = .distantFuture, on timers: any TimerService = TimerThread.deadlines,
    discard: (@Sendable (Success) -> Void)? = nil, while predicate: @Sendable (Failure) -> Bool = { _ in true },
    delay: @Sendable (Failure) -> Duration? = { _ in nil },
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws -> Success
{
  var plan = RetryPlan(attempts: attempts, backoff: backoff, budget: budget, deadline: deadline)
  let start = timers.now
  var random = SystemRandom()
  guard plan.attempts > 0 else { throw plan.error(.invalidArgument, since: start, now: start) }
  plan.budget?.deposit()
  while true {
    try Task.checkCancellation()
    let failure: Failure
    switch await TimedEnd.of(operation, until: plan.deadline, on: timers, discard) {
    case .success(let value): return value
    case .failure(let error): failure = error
    case .timedOut: throw plan.error(.timedOut, since: start, now: timers.now)
    case .cancelled: throw CancellationError()
    }
    let verdict = plan.fail(
      failure, isRetryable: predicate(failure), asked: delay(failure), now: timers.now, using: &random)
    switch verdict {
    case .end(let code): throw plan.error(code, since: start, now: timers.now)
    case .again(.zero): break
    case .again(let delay): _ = await Waiter.ofTask().wait(until: timers.now + delay, on: timers)
    }
  }
}

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

/// Keeps retries from multiplying the load on a service that is down. Each first attempt deposits a fraction of a
/// token, each retry takes a whole one, and without a token there is no retry.
///
/// Share one budget among all calls to a service. By default retries add at most 10 % to the load, apart from a small
/// initial reserve. Any number of threads and tasks may use it concurrently; each call is lock-free.
public final class RetryBudget: Sendable {
  private static let token = 1_000_000

  private let share: Int
  private let most: Int
  // In millionths of a token.
  private let balance: AtomicCell<Int>

  /// Creates a budget. Values out of range are clamped.
  ///
  /// - Parameters:
  ///   - ratio: The retries that each first attempt allows: 0.1 for one in ten; 0 to 1,000.
  ///   - reserve: The initial number of retries; not negative.
  ///   - limit: The maximum number of retries saved up; at least `reserve`.
  public init(ratio: Double = 0.1, reserve: Int = 10, limit: Int = 100) {
    let bound = 1_000_000_000
    let reserve = min(max(reserve, 0), bound)
    share = Int((ratio >= 0 ? min(ratio, 1000) : 0) * Double(Self.token))
    most = min(max(limit, reserve), bound) * Self.token
    balance = AtomicCell(reserve * Self.token)
  }

  /// The number of retries currently available.
  public var available: Int { balance.load(ordering: .relaxed) / Self.token }

  /// Records a first attempt.
  public func deposit() { _ = change { min($0 + share, most) } }

  /// Takes a retry. Returns false if none is available.
  public func withdraw() -> Bool { change { $0 >= Self.token ? $0 - Self.token : nil } }

  /// Changes the balance. Returns false if `new` returns nil for it.
  private func change(_ new: (Int) -> Int?) -> Bool {
    var old = balance.load(ordering: .relaxed)
    while let new = new(old) {
      let (done, found) = balance.compareExchange(expected: old, desired: new, ordering: .relaxed)
      if done { return true }
      old = found
    }
    return false
  }
}
