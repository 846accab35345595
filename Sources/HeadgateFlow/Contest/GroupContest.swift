// The structured driver: a contest of async functions as child tasks of one group, which all have ended when it returns.

import HeadgateThreads

/// What a contest is called, and when it began: what its errors say.
struct ContestTitle: Sendable {
  let name: String
  let count: Int
  let start: Deadline

  init(_ name: String, of count: Int, start: Deadline = .now) {
    self.name = name
    self.count = count
    self.start = start
  }

  var operation: String { "\(name) of \(count)" }

  func error<Failure: Error>(_ failure: ContestFailure<Failure>) -> FlowError<Failure> {
    FlowError(
      failure.code, failures: failure.failures, inputs: failure.inputs, deciding: failure.deciding,
      operation: operation, waited: .now - start)
  }

  func error<Failure: Error>(_ code: FlowErrorCode) -> FlowError<Failure> {
    FlowError(code, operation: operation, waited: .now - start)
  }
}

/// Which child has ended, and how.
struct ContestChild<Success: Sendable, Failure: Error>: Sendable {
  let index: Int
  let end: ContestEnd<Success, Failure>
}

extension Contest where Success: Sendable {
  /// Runs the contest in a task group, and returns what came of it when all children have ended.
  nonisolated(nonsending) consuming func run(
    discard: (@Sendable (Success) -> Void)?, matches: ((Success) -> Bool)? = nil,
    _ operation: @escaping @Sendable (Int) async -> ContestEnd<Success, Failure>
  ) async -> ContestOutcome<Success, Failure> {
    var contest = self
    await withTaskGroup(of: ContestChild<Success, Failure>.self) { group in
      var isCancelled = Task.isCancelled
      if isCancelled { contest.cancel(.cancelled) }
      while true {
        while let index = contest.start() {
          group.addTask { ContestChild(index: index, end: await operation(index)) }
        }
        guard let child = await group.next() else { break }
        // What fails because all is cancelled is no decision. What succeeds all the same is.
        if child.end.success == nil, Task.isCancelled { contest.cancel(.cancelled) }
        let isMatch = child.end.success.map { matches?($0) ?? true } ?? false
        if let leftover = contest.end(child.index, child.end, matches: isMatch) { discard?(leftover) }
        if Task.isCancelled { contest.cancel(.cancelled) }
        if contest.isSettled, !isCancelled {
          isCancelled = true
          group.cancelAll()
        }
      }
    }
    let (outcome, leftovers) = contest.conclude()
    if let discard { for leftover in leftovers { discard(leftover) } }
    return outcome
  }
}
