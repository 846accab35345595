import HeadgateThreads

/// Runs a function for several inputs concurrently, and returns all results in the order of the inputs. The first
/// failure cancels the rest.
///
///     let pages = try await allSucceed(urls) { url in try await client.page(url) }
///
/// The inputs are taken in their order, each by a child task. Stack use does not depend on their number.
/// After the decision, or once the task is cancelled, no further function starts, and running ones are cancelled.
/// Without inputs the result is empty.
///
/// This function and the related ones (`firstToSucceed`, `race`, `quorum` and so on) end in the same way. From a thread
/// that may block, call them inside `waitForTask`; to receive the result in a closure, inside `startTask`. To run
/// callback functions, wrap them in `awaitCallback`.
///
/// - Parameters:
///   - inputs: The inputs.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What happens to those still running at the first failure, or when the task is cancelled.
///   - discard: Receives each success if there is no result, including successes before the failure.
///   - function: The function to run.
/// - Returns: The results, each at its input's position.
/// - Throws: ``FlowError``: `failed` with the first failure to occur (``FlowError/inputs`` has its input),
///   `invalidArgument`. `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func allSucceed<Input: Sendable, Success: Sendable>(
    _ inputs: some Sequence<Input>, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> [Success]
{
  let inputs = Array(inputs)
  return try await ContestPlan(name: "allSucceed", atMost: atMost, losers: losers, discard: discard)
    .run(inputs, needed: inputs.count, function).winners(or: .failed)
}

/// Runs functions with different result types concurrently, and returns all results. The first failure cancels the
/// rest.
///
///     let (user, news) = try await allSucceed(
///       { @Sendable in try await client.user() }, { @Sendable in try await client.news() })
///
/// Otherwise like the form for inputs. There is no `discard`, since the results have no common type. A result that must
/// be closed should be a class that does so in its deinitializer.
///
/// - Parameters:
///   - losers: What happens to those still running at the first failure, or when the task is cancelled.
///   - function: The functions to run.
/// - Returns: The results, each at its function's position.
/// - Throws: Like the form for inputs.
nonisolated(nonsending)
  public func allSucceed<each Success: Sendable>(
    losers: Losers = .join, _ function: repeat @escaping @Sendable () async throws -> each Success
  ) async throws -> (repeat each Success)
{
  let slots = (repeat ResultSlot<each Success>())
  defer { repeat (each slots).close() }
  var functions: [@Sendable () async throws -> Void] = []
  repeat functions.append((each slots).filled(by: each function))
  _ = try await allSucceed(functions, losers: losers) { try await $0() }
  return (repeat try (each slots).take().get())
}

/// The end of one of several functions with different result types.
///
/// Closed once the outcome is known, because an abandoned function that is still running retains the slots of all
/// functions.
final class ResultSlot<Success: Sendable>: Sendable {
  private let content = Locked<(end: Result<Success, any Error>?, isClosed: Bool)>((nil, false))

  func filled(by function: @escaping @Sendable () async throws -> Success) -> @Sendable () async throws -> Void {
    {
      let end: Result<Success, any Error>
      do { end = .success(try await function()) } catch { end = .failure(error) }
      self.content.withLock { content in if !content.isClosed { content.end = end } }
      _ = try end.get()
    }
  }

  /// Returns how its function ended, once.
  func take() throws -> Result<Success, any Error> {
    guard let end = content.withLock({ $0.end.take() }) else { throw CancellationError() }
    return end
  }

  /// Releases a stored result, without the lock, and ignores later ones.
  func close() {
    let rest = content.withLock { content in
      content.isClosed = true
      return content.end.take()
    }
    _ = consume rest
  }
}
