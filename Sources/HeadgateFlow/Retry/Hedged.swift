import HeadgateThreads

/// Runs a function, and starts it again if it has not ended after a while. The first success is the result, and the
/// rest is cancelled.
///
///     let page = try await hedged(after: .milliseconds(50)) { try await replica.page(url) }
///
/// A failed attempt starts the next one at once. Stack use does not depend on the number of attempts. Use it
/// only for operations that may run twice. If the task is cancelled, no further attempt starts, and running ones are
/// cancelled.
///
/// - Parameters:
///   - delay: The time from the first attempt to the second, from the second to the third, and so on, whatever has
///     started the earlier ones. With zero, all start at once.
///   - attempts: The maximum number of attempts; 1 or more.
///   - losers: What happens to the others at the first success, or when the task is cancelled.
///   - timers: The clock of the delay.
///   - discard: Receives each success that is not the result.
///   - operation: The function to run.
/// - Returns: The first success, even if it arrives while the task is being cancelled.
/// - Throws: ``FlowError``: `allFailed` with the failures of all attempts, `invalidArgument`. `CancellationError` if
///   the task was cancelled.
nonisolated(nonsending)
  public func hedged<Success: Sendable>(
    after delay: Duration, attempts: Int = 2, losers: Losers = .join,
    on timers: any TimerService = TimerThread.deadlines, discard: (@Sendable (Success) -> Void)? = nil,
    _ operation: @escaping @Sendable () async throws -> Success
  ) async throws -> Success
{
  var hedge = Hedge(attempts: attempts, delay: delay, start: timers.now)
  guard attempts > 0 else { throw hedge.error(.invalidArgument, now: timers.now) }
  let operation = { @Sendable (_: Int) in try await operation() }
  let function = losers == .join ? operation : abandonable(discard, operation)
  return try await withThrowingTaskGroup(of: HedgeEvent<Success>.self) { group in
    // One child task is the timer for the next attempt; all others are attempts.
    var isTimed = false
    var result: Success?
    while result == nil, !Task.isCancelled, !hedge.isOver {
      while let index = hedge.next(at: timers.now) {
        group.addTask {
          do {
            // If it is cancelled before it runs, it does not count as an attempt.
            try Task.checkCancellation()
            return .ended(index, .success(try await function(index)))
          } catch {
            return .ended(index, .failure(error))
          }
        }
      }
      if let turn = hedge.turn, !isTimed {
        isTimed = true
        group.addTask {
          _ = await Waiter.ofTask().wait(until: turn, on: timers)
          return .turn
        }
      }
      switch try await group.next() {
      case .ended(_, .success(let value)): result = value
      case .ended(let index, .failure(let failure)): if !Task.isCancelled { hedge.fail(index, failure) }
      case .turn, nil: isTimed = false
      }
    }
    group.cancelAll()
    for try await case .ended(_, .success(let value)) in group {
      if result == nil { result = value } else { discard?(value) }
    }
    if let result { return result }
    guard hedge.isOver else { throw CancellationError() }
    throw hedge.error(.allFailed, now: timers.now)
  }
}

private enum HedgeEvent<Success: Sendable>: Sendable {
  case ended(Int, Result<Success, any Error>)
  /// The timer for the next attempt has fired.
  case turn
}

/// The attempts of a hedge as a value: each starts at its time, or when an earlier one has failed.
struct Hedge {
  let attempts: Int
  let delay: Duration
  let start: Deadline
  private var started = 0
  private var lastStart: Deadline
  /// How many attempts must have started, whatever the time.
  private var wanted = 1
  private var failures: [Int: any Error] = [:]

  init(attempts: Int, delay: Duration, start: Deadline) {
    self.attempts = attempts
    self.delay = max(delay, .zero)
    self.start = start
    lastStart = start
  }

  /// Whether all attempts have failed.
  var isOver: Bool { failures.count == attempts }

  /// When the next attempt starts if none fails before; nil if there is no next attempt. Saturates.
  var turn: Deadline? {
    guard started < attempts else { return nil }
    return started == 0 ? start : lastStart + delay
  }

  /// The number of the attempt to start now; nil if none is due.
  mutating func next(at now: Deadline) -> Int? {
    guard let turn, started < wanted || turn <= now else { return nil }
    // The time that was due, and not the time at which it was noticed, so that delays do not add up.
    lastStart = turn <= now ? turn : now
    defer { started += 1 }
    return started
  }

  /// Records a failed attempt, which starts the next one.
  mutating func fail(_ index: Int, _ failure: any Error) {
    failures[index] = failure
    wanted = started + 1
  }

  func error(_ code: FlowError.Code, now: Deadline) -> FlowError {
    let inputs = failures.keys.sorted()
    return FlowError(
      code, failures: inputs.compactMap { failures[$0] }, inputs: inputs, operation: "hedged of \(attempts)",
      waited: now - start)
  }
}
