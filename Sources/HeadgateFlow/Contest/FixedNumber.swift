// Fixed numbers of functions with different types of results. Each puts its result into a slot of its own, and the
// contest is one of functions without results, or with their numbers.
//
// There is no atMost, since there are few; no discard, since the results have no common type: what must be closed is a
// class that does it at the end of its life, which comes as soon as nobody needs it; and no firstMatching, since one
// predicate can't ask about different types.

import HeadgateThreads

/// Runs functions with different results at the same time, and returns all results; the first failure cancels the rest.
///
///     let (user, news) = try await allSucceed(
///       { @Sendable in try await client.user() }, { @Sendable in try await client.news() })
///
/// Otherwise as the form for arrays. There is one function at least: without any, the compiler can't tell what they throw.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - function: What to run.
/// - Returns: The results, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
nonisolated(nonsending)
  public func allSucceed<each Success: Sendable, Failure: Error>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat each Success)
{
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [@Sendable () async throws(Failure) -> Void] = []
  repeat functions.append((each slots).filled(by: each function))
  // By index, in code that is generic in the error as the code is that made the array: see the forms for any error.
  _ = try await allPlan(functions.count, .max, losers, nil)
    .run { [functions] index async throws(Failure) in try await functions[index]() }
  return (repeat try (each slots).value(Failure.self))
}

/// Calls callback functions with different results, and blocks the calling thread until all have succeeded or one has
/// failed. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - function: What to call.
/// - Returns: The results, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func allSucceed<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, until deadline: Deadline, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat each Success) {
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [CallbackFunction<Void, Failure>] = []
  repeat functions.append((each slots).filled(by: each function))
  _ = try allSucceed(losers: losers, until: deadline, functions)
  return (repeat try (each slots).value(Failure.self))
}

/// Runs functions with different results at the same time, and returns how each of them ended. Otherwise as the form for
/// arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - function: What to run.
/// - Returns: The ends, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
nonisolated(nonsending)
  public func allSettled<each Success: Sendable, Failure: Error>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat Result<each Success, FlowError<Failure>>)
{
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [@Sendable () async throws(Failure) -> Void] = []
  repeat functions.append((each slots).filled(by: each function))
  var ends = try await settledPlan(functions.count, .max, losers, nil)
    .run { [functions] index async throws(Failure) in try await functions[index]() }.makeIterator()
  return (repeat (each slots).result(ends.next()))
}

/// Calls callback functions with different results, and blocks the calling thread until all have answered, or until the
/// deadline. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - function: What to call.
/// - Returns: The ends, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func allSettled<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, until deadline: Deadline, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat Result<each Success, FlowError<Failure>>) {
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [CallbackFunction<Void, Failure>] = []
  repeat functions.append((each slots).filled(by: each function))
  var ends = try allSettled(losers: losers, until: deadline, functions).makeIterator()
  return (repeat (each slots).result(ends.next()))
}

/// Runs functions with different results at the same time; the first success is the result, at its place in the tuple,
/// and nil at the others. Otherwise as the form for arrays.
///
///     let (cached, fetched) = try await firstToSucceed(
///       { @Sendable in try await cache.entry() }, { @Sendable in try await client.page() })
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - function: What to run.
/// - Returns: The first success at its place, nil at the others.
/// - Throws: ``FlowError``: as the form for arrays.
nonisolated(nonsending)
  public func firstToSucceed<each Success: Sendable, Failure: Error>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat (each Success)?)
{
  try await winners({ firstPlan($0, .max, losers, nil) }, { [$0] }, repeat each function)
}

/// Calls callback functions with different results, and blocks the calling thread until the first has succeeded: its
/// result stands at its place in the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - function: What to call.
/// - Returns: The first success at its place, nil at the others.
/// - Throws: ``FlowError``: as the form for arrays.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func firstToSucceed<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, until deadline: Deadline, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat (each Success)?) {
  try winners(
    { functions throws(FlowError<Failure>) in [try firstToSucceed(losers: losers, until: deadline, functions)] },
    repeat each function)
}

/// Runs functions with different results at the same time; the first to end decides, and its result stands at its place in
/// the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - function: What to run.
/// - Returns: What the first to end returned at its place, nil at the others.
/// - Throws: ``FlowError``: as the form for arrays.
nonisolated(nonsending)
  public func race<each Success: Sendable, Failure: Error>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat (each Success)?)
{
  try await winners({ racePlan($0, .max, losers, nil) }, { [$0] }, repeat each function)
}

/// Calls callback functions with different results, and blocks the calling thread until the first has answered: its
/// result stands at its place in the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - function: What to call.
/// - Returns: What the first to end returned at its place, nil at the others.
/// - Throws: ``FlowError``: as the form for arrays.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func race<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, until deadline: Deadline, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat (each Success)?) {
  try winners(
    { functions throws(FlowError<Failure>) in [try race(losers: losers, until: deadline, functions)] },
    repeat each function)
}

/// Runs functions with different results at the same time until so many have succeeded: their results stand at their places
/// in the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - needed: How many successes are needed: 0, which gives a tuple of nil and runs nothing, to the number of functions.
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - function: What to run.
/// - Returns: The first `needed` successes in time, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
nonisolated(nonsending)
  public func quorum<each Success: Sendable, Failure: Error>(
    _ needed: Int, losers: Losers = .join,
    _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat (each Success)?)
{
  try await winners({ quorumPlan(needed, $0, .max, losers, nil) }, { $0 }, repeat each function)
}

/// Calls callback functions with different results, and blocks the calling thread until so many have succeeded: their
/// results stand at their places in the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - needed: How many successes are needed: 0 to the number of functions.
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - function: What to call.
/// - Returns: The first `needed` successes in time, each at the place of its function.
/// - Throws: ``FlowError``: as the form for arrays.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func quorum<each Success: Sendable, Failure: Error>(
  _ needed: Int, losers: Losers = .join, until deadline: Deadline,
  _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat (each Success)?) {
  try winners(
    { functions throws(FlowError<Failure>) in try quorum(needed, of: functions, losers: losers, until: deadline) },
    repeat each function)
}

// MARK: What firstToSucceed, race and quorum share

/// Runs a contest of the functions' numbers, and returns what the winners returned, each at its place.
nonisolated(nonsending)
  private func winners<each Success: Sendable, Failure: Error, Decision: Sendable>(
    _ plan: (Int) -> ContestPlan<Int, Failure, Decision>, _ numbers: (Decision) -> [Int],
    _ function: repeat @escaping @Sendable () async throws(Failure) -> each Success
  ) async throws(FlowError<Failure>) -> (repeat (each Success)?)
{
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [@Sendable () async throws(Failure) -> Int] = []
  repeat functions.append((each slots).filled(by: each function, number: functions.count))
  let decision = try await plan(functions.count)
    .run { [functions] index async throws(Failure) in try await functions[index]() }
  var places = FixedPlaces(winners: numbers(decision))
  return (repeat (each slots).value(at: &places))
}

/// The same, blocking the calling thread.
@available(*, noasync)
private func winners<each Success: Sendable, Failure: Error>(
  _ contest: ([CallbackFunction<Int, Failure>]) throws(FlowError<Failure>) -> [Int],
  _ function: repeat @escaping CallbackFunction<each Success, Failure>
) throws(FlowError<Failure>) -> (repeat (each Success)?) {
  let slots = (repeat FixedSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [CallbackFunction<Int, Failure>] = []
  repeat functions.append((each slots).filled(by: each function, number: functions.count))
  var places = FixedPlaces(winners: try contest(functions))
  return (repeat (each slots).value(at: &places))
}
