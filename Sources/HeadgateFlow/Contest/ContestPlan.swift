// The driver of all contests: child tasks of one group. Each takes the next function, runs it, and reports its end
// under the contest's lock.
//
// The child whose end decides the contest throws, which cancels the others. So the parent is woken only once, at the
// end. A group that returned each child's result would wake the parent each time, which is most of the cost of many
// small children. Since starts and ends go through one value, no function is called after the decision.

import HeadgateThreads

/// The parameters of a contest.
struct ContestPlan<Success: Sendable>: Sendable {
  let name: String
  let atMost: Int
  let losers: Losers
  let discard: (@Sendable (Success) -> Void)?
  /// Whether an end counts towards the needed number.
  var counts: @Sendable (Contest<Success>.End) -> Bool = { end in if case .success = end { true } else { false } }

  /// Runs a function for each input until the needed number has succeeded, or can no longer be reached. All children
  /// have ended when it returns. Throws only for an invalid number, or if the task was cancelled before the decision.
  nonisolated(nonsending) func run<Input: Sendable>(
    _ inputs: [Input], needed: Int, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> ContestOutcome<Success> {
    let begin = Deadline.now
    let operation = "\(name) of \(inputs.count)"
    guard atMost > 0, 0...max(inputs.count, 1) ~= needed else {
      throw FlowError(.invalidArgument, operation: operation)
    }
    guard needed <= inputs.count else { throw FlowError(.noInput, operation: operation) }
    let contest = LockedBox(Contest<Success>(count: inputs.count, needed: needed))
    let function = losers == .join ? function : abandonable(discard, function)
    let children = min(atMost, inputs.count)
    try? await withThrowingDiscardingTaskGroup { group in
      for _ in 0..<children {
        group.addTask {
          while let index = start(contest) {
            let end: Contest<Success>.End
            do { end = .success(try await function(inputs[index])) } catch { end = .failure(error) }
            try self.end(index, end, contest)
            guard children < inputs.count else { return }
            // Like a new child task, it lets others have their turn first.
            await Task.yield()
          }
        }
      }
    }
    let (verdict, ends) = contest.withLock { ($0.verdict, $0.ends) }
    let outcome = ContestOutcome(verdict: verdict, ends: ends, operation: operation, waited: .now - begin)
    if let discard, verdict != .won { outcome.leftovers.forEach(discard) }
    if verdict == .cancelled { throw CancellationError() }
    return outcome
  }

  /// Thrown by the child whose end decides.
  private struct Decided: Error {}

  /// The next function to call; nil if there is none or the task is cancelled.
  private func start(_ contest: LockedBox<Contest<Success>>) -> Int? {
    let isCancelled = Task.isCancelled
    return contest.withLock { contest in
      if isCancelled { contest.cancel() }
      return contest.start()
    }
  }

  /// Reports a function's end. Throws if it decides the contest.
  private func end(_ index: Int, _ end: Contest<Success>.End, _ contest: LockedBox<Contest<Success>>) throws {
    let counts = counts(end)
    let isCancelled = Task.isCancelled
    let (isKept, decides) = contest.withLock { contest in
      // A failure caused by the cancellation does not decide. A success does.
      if isCancelled, case .failure = end { contest.cancel() }
      let isKept = contest.end(index, end, counts: counts)
      return (isKept, isKept && contest.verdict != nil)
    }
    if !isKept, case .success(let value) = end { discard?(value) }
    if decides { throw Decided() }
  }
}

/// The outcome of a contest.
struct ContestOutcome<Success: Sendable> {
  let verdict: Contest<Success>.Verdict?
  let ends: [Contest<Success>.End?]
  let operation: String
  let waited: Duration

  /// The successes, in the order of the inputs.
  var successes: [Success] {
    ends.compactMap { end in if case .success(let value)? = end { value } else { nil } }
  }

  /// The successes that are not the result of a lost contest. In `firstMatching` the last to end may be the result.
  fileprivate var leftovers: [Success] {
    if case .lost(let index) = verdict, case .success? = ends[index] { return [] }
    return successes
  }

  /// The successes, if there are enough.
  func winners(or code: FlowError.Code) throws -> [Success] {
    if case .lost(let index) = verdict { throw error(code, deciding: index) }
    return successes
  }

  /// The only success that was needed. In `race` a failure may have taken its place.
  func winner(or code: FlowError.Code) throws -> Success {
    guard let winner = try winners(or: code).first else { throw error(code, deciding: ends.firstIndex { $0 != nil }) }
    return winner
  }

  /// An error with all failures.
  func error(_ code: FlowError.Code, deciding: Int? = nil) -> FlowError {
    var (inputs, failures): ([Int], [any Error]) = ([], [])
    for (index, end) in ends.enumerated() {
      if case .failure(let failure)? = end {
        inputs.append(index)
        failures.append(failure)
      }
    }
    return FlowError(
      code, failures: failures, inputs: inputs, deciding: deciding.flatMap { inputs.firstIndex(of: $0) },
      operation: operation, waited: waited)
  }
}
