import HeadgateThreads

/// Runs a function for several inputs concurrently, and returns how each of them ended, in the order of the inputs. A
/// failure does not cancel the others.
///
///     for result in try await allSettled(hosts, { host in try await check(host) }) { … }
///
/// Otherwise like `allSucceed`. Without inputs the result is empty.
///
/// - Parameters:
///   - inputs: The inputs.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What happens to those still running when the task is cancelled.
///   - discard: Receives each success if the task is cancelled.
///   - function: The function to run.
/// - Returns: The value or error of each function.
/// - Throws: ``FlowError``: `invalidArgument` only. `CancellationError` if the task was cancelled before the last
///   function ended.
nonisolated(nonsending)
  public func allSettled<Input: Sendable, Success: Sendable>(
    _ inputs: some Sequence<Input>, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> [Result<Success, any Error>]
{
  let inputs = Array(inputs)
  let plan = ContestPlan(name: "allSettled", atMost: atMost, losers: losers, discard: discard) { _ in true }
  return try await plan.run(inputs, needed: inputs.count, function).ends.compactMap(\.self)
}

/// Runs functions with different result types concurrently, and returns how each of them ended. Otherwise like the form
/// for inputs.
///
///     let (user, news) = try await allSettled(
///       { @Sendable in try await client.user() }, { @Sendable in try await client.news() })
///
/// - Parameters:
///   - losers: What happens to those still running when the task is cancelled.
///   - function: The functions to run.
/// - Returns: The value or error of each function, at its function's position.
/// - Throws: `CancellationError` if the task was cancelled before the last function ended.
nonisolated(nonsending)
  public func allSettled<each Success: Sendable>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws -> each Success
  ) async throws -> (repeat Result<each Success, any Error>)
{
  let slots = (repeat ResultSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [@Sendable () async throws -> Void] = []
  repeat functions.append((each slots).filled(by: each function))
  _ = try await allSettled(functions, losers: losers) { try await $0() }
  return (repeat try (each slots).take())
}
