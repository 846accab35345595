// The structured driver: a contest of async functions as child tasks of one group, which all have ended when it returns.
//
// The group's results are of one type for all contests, and so is the loop that takes them: what is of the caller's types
// stands in slots, and is reached through three closures. Generic code that looks its types up at run time, several times
// for each child, made a contest twice as slow as a task group written by hand.

import HeadgateThreads

/// Which child has ended, and how; what it brought stands in its slot.
struct ContestChild: Sendable {
  let index: Int
  let end: ContestEnd
}

extension Contest {
  /// Throwing, though no child throws: in the other kind each child costs a closure and two frames more, for a thunk.
  typealias Group = ThrowingTaskGroup<ContestChild, any Error>

  /// Runs the contest in a task group, and returns what came of it when all children have ended.
  ///
  /// - Parameters:
  ///   - start: Adds those to the group that may start.
  ///   - matches: Whether a child's success is what is looked for.
  ///   - drop: Empties a slot that nobody needs.
  nonisolated(nonsending) mutating func run(
    start: (inout Group, inout Contest) -> Void, matches: (Int) -> Bool, drop: (Int, ContestEnd) -> Void
  ) async -> ContestOutcome {
    try? await withThrowingTaskGroup(of: ContestChild.self) { group in
      var isCancelled = Task.isCancelled
      if isCancelled { cancel(.cancelled) }
      while true {
        start(&group, &self)
        guard let child = try await group.next() else { break }
        // What fails because all is cancelled is no decision. What succeeds all the same is.
        if child.end != .success, Task.isCancelled { cancel(.cancelled) }
        let isMatch = child.end == .success && matches(child.index)
        if !end(child.index, child.end, matches: isMatch) { drop(child.index, child.end) }
        if Task.isCancelled { cancel(.cancelled) }
        if isSettled, !isCancelled {
          isCancelled = true
          group.cancelAll()
        }
      }
    }
    let outcome = conclude()
    outcome.forEachLeftover(drop)
    return outcome
  }
}

extension ContestPlan {
  typealias Slots = ContestSlots<Success, Failure>

  /// Among async functions, suspending until the outcome is there.
  nonisolated(nonsending) func run(
    _ function: nonisolated(nonsending) @escaping @Sendable (Int) async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Output {
    let title = ContestTitle(name, of: count)
    guard !isInvalid else { throw title.error(.invalidArgument) }
    guard losers == .join else {
      let calls = asCallback { index, completion in
        callbackFunction { () async throws(Failure) in try await function(index) }(completion)
      }
      return try await CallWait.suspend(until: .distantFuture, on: TimerThread.shared, settles: true, calls)
        .settled(title.operation, since: title.start)
    }
    return try await join(title) { group, contest, slots in
      while let index = contest.start() {
        group.addTask {
          do throws(Failure) {
            return slots.putSuccess(try await function(index), at: index)
          } catch {
            return slots.putFailure(error, at: index)
          }
        }
      }
    }
  }

  /// Among the functions of an array. As the form by number, with a closure less for each child.
  nonisolated(nonsending) func run(
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> Output {
    guard losers == .join, !isInvalid else {
      return try await run { index async throws(Failure) in try await functions[index]() }
    }
    return try await join(ContestTitle(name, of: count)) { group, contest, slots in
      functions.withUnsafeBufferPointer { functions in
        while let index = contest.start() {
          let function = functions[index]
          group.addTask {
            do throws(Failure) {
              return slots.putSuccess(try await function(), at: index)
            } catch {
              return slots.putFailure(error, at: index)
            }
          }
        }
      }
    }
  }

  /// Among child tasks, which have all ended when it returns. `start` adds those that may start; each leaves what it
  /// brings in its slot.
  nonisolated(nonsending) func join(
    _ title: ContestTitle, start: (inout Contest.Group, inout Contest, Slots) -> Void
  ) async throws(FlowError<Failure>) -> Output {
    let slots = Slots(count: count)
    var contest = Contest(rule, count: count, atMost: atMost)
    let outcome = await contest.run { group, contest in
      start(&group, &contest, slots)
    } matches: { index in
      if let matches { slots.matches(index, matches) } else { true }
    } drop: { index, end in
      slots.drop(index, end, discard)
    }
    return try shape.output(outcome, slots, title)
  }
}

extension ContestPlan where Failure == any Error {
  /// Among functions that throw any error, which only code that knows this takes out of their array (see
  /// AnyErrorForms.swift).
  nonisolated(nonsending) func run(
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<Failure>) -> Output {
    guard losers == .join, !isInvalid else { return try await run { index in try await functions[index]() } }
    return try await join(ContestTitle(name, of: count)) { group, contest, slots in
      functions.withUnsafeBufferPointer { functions in
        while let index = contest.start() {
          let function = functions[index]
          group.addTask {
            do throws(any Error) {
              return slots.putSuccess(try await function(), at: index)
            } catch {
              return slots.putFailure(error, at: index)
            }
          }
        }
      }
    }
  }
}
