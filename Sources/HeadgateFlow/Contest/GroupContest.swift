// The structured driver: a contest of async functions as child tasks of one group, which all have ended when it returns.
//
// The children bring their ends in themselves, and the one that decides throws, which cancels the others. So whoever waits
// is woken once, when all is over; a group that hands out the result of each child wakes him for each, which is most of
// what many small children cost. And it leaves the caller's actor for that time: what runs there need not make room for
// the start of each child.
//
// All of this is compiled once: what is of the caller's types stands in slots, and is reached through closures. Generic
// code that looks its types up at run time, several times for each child, made a contest twice as slow as a task group
// written by hand.

import HeadgateThreads

/// A contest of async functions under way.
final class GroupContest: Sendable {
  typealias Group = ThrowingDiscardingTaskGroup<any Error>

  /// Thrown by the child whose end decides.
  private struct Decided: Error {}

  private let contest: Locked<Contest>
  /// Whether the success in a slot is what is looked for; nil: any is.
  private let matches: (@Sendable (Int) -> Bool)?
  /// Empties a slot that nobody needs.
  private let drop: @Sendable (Int, ContestEnd) -> Void

  private init(
    _ contest: Contest, matches: (@Sendable (Int) -> Bool)?, drop: @escaping @Sendable (Int, ContestEnd) -> Void
  ) {
    self.contest = Locked(contest)
    self.matches = matches
    self.drop = drop
  }

  /// Runs a contest in a task group, and returns what came of it when all children have ended.
  ///
  /// - Parameters:
  ///   - matches: Whether the success in a slot is what is looked for; nil: any is.
  ///   - drop: Empties a slot that nobody needs.
  ///   - start: Adds children to the group, for the first so many functions.
  @concurrent static func run(
    _ contest: Contest, matches: (@Sendable (Int) -> Bool)?, drop: @escaping @Sendable (Int, ContestEnd) -> Void,
    start: @Sendable (inout Group, Int, Running) -> Void
  ) async -> ContestOutcome {
    var contest = contest
    if Task.isCancelled { contest.cancel(.cancelled) }
    while contest.start() != nil {}
    let started = contest.started
    let running = GroupContest(contest, matches: matches, drop: drop)
    try? await withThrowingDiscardingTaskGroup { group in
      start(&group, started, Running(contest: Unmanaged.passUnretained(running)))
    }
    let outcome = running.contest.withLock { $0.conclude() }
    outcome.forEachLeftover(drop)
    return outcome
  }

  /// A contest as its children see it. `run` holds it until all of them have ended; a count of references would be one
  /// more thing that they contend for.
  struct Running: Sendable {
    fileprivate let contest: Unmanaged<GroupContest>

    /// Whether a function is to be called yet: not once the outcome is there, or the caller was cancelled.
    var mayCall: Bool {
      !Task.isCancelled && !contest._withUnsafeGuaranteedRef { $0.contest.withLock { $0.isSettled } }
    }

    /// A child's function has ended. Returns the next one, which the child is to run in its place; throws if nothing
    /// more is needed.
    @discardableResult
    func end(_ index: Int, _ end: ContestEnd) throws -> Int? {
      try contest.takeUnretainedValue().end(index, end)
    }
  }

  private func end(_ index: Int, _ end: ContestEnd) throws -> Int? {
    let isMatch = end != .success || matches?(index) ?? true
    let isCancelled = Task.isCancelled
    let (isKept, decides, next) = contest.withLock { contest in
      // What fails because all is cancelled is no decision. What succeeds all the same is.
      if isCancelled, end != .success { contest.cancel(.cancelled) }
      let wasSettled = contest.isSettled
      let isKept = contest.end(index, end, matches: isMatch)
      let decides = !wasSettled && contest.isSettled && contest.running > 0
      if isCancelled { contest.cancel(.cancelled) }
      return (isKept, decides, contest.start())
    }
    if !isKept { drop(index, end) }
    if decides { throw Decided() }
    return next
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
    return try await join(title) { index, slots in
      do throws(Failure) {
        return slots.putSuccess(try await function(index), at: index)
      } catch {
        return slots.putFailure(error, at: index)
      }
    }
  }

  /// Among the functions of an array. As the form by number, but if all may run at once each child has its function at
  /// hand.
  nonisolated(nonsending) func run(
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> Output {
    guard losers == .join, count <= atMost, !isInvalid else {
      return try await run { index async throws(Failure) in try await functions[index]() }
    }
    return try await join(ContestTitle(name, of: count)) { group, started, contest, slots in
      functions.withUnsafeBufferPointer { functions in
        for index in 0..<started {
          let function = functions[index]
          group.addTask {
            guard contest.mayCall else { return _ = try contest.end(index, .missing) }
            let end: ContestEnd
            do throws(Failure) {
              end = slots.putSuccess(try await function(), at: index)
            } catch {
              end = slots.putFailure(error, at: index)
            }
            try contest.end(index, end)
          }
        }
      }
    }
  }

  /// Among child tasks, which have all ended when it returns, each of which runs one function after another. `perform`
  /// runs one, by its number, and leaves what it brings in its slot.
  nonisolated(nonsending) func join(
    _ title: ContestTitle, _ perform: @escaping @Sendable (Int, Slots) async -> ContestEnd
  ) async throws(FlowError<Failure>) -> Output {
    try await join(title) { group, started, contest, slots in
      for first in 0..<started {
        group.addTask {
          var next = try contest.end(first, contest.mayCall ? await perform(first, slots) : .missing)
          while let index = next {
            // As a child of its own would, it lets others have their turn first.
            await Task.yield()
            next = try contest.end(index, contest.mayCall ? await perform(index, slots) : .missing)
          }
        }
      }
    }
  }

  private nonisolated(nonsending) func join(
    _ title: ContestTitle, start: @Sendable (inout GroupContest.Group, Int, GroupContest.Running, Slots) -> Void
  ) async throws(FlowError<Failure>) -> Output {
    let slots = Slots(count: count)
    defer { slots.deallocate() }
    let matches: (@Sendable (Int) -> Bool)? = if let matches { { slots.matches($0, matches) } } else { nil }
    let outcome = await GroupContest.run(
      Contest(rule, count: count, atMost: atMost), matches: matches,
      drop: { [discard] index, end in slots.drop(index, end, discard) },
      start: { group, started, contest in start(&group, started, contest, slots) })
    return try shape.output(outcome, slots, title)
  }
}

extension ContestPlan where Failure == any Error {
  /// Among functions that throw any error, which only code that knows this takes out of their array (see
  /// AnyErrorForms.swift).
  nonisolated(nonsending) func run(
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<Failure>) -> Output {
    guard losers == .join, count <= atMost, !isInvalid else {
      return try await run { index in try await functions[index]() }
    }
    return try await join(ContestTitle(name, of: count)) { group, started, contest, slots in
      functions.withUnsafeBufferPointer { functions in
        for index in 0..<started {
          let function = functions[index]
          group.addTask {
            guard contest.mayCall else { return _ = try contest.end(index, .missing) }
            let end: ContestEnd
            do throws(any Error) {
              end = slots.putSuccess(try await function(), at: index)
            } catch {
              end = slots.putFailure(error, at: index)
            }
            try contest.end(index, end)
          }
        }
      }
    }
  }
}
