// The three forms that every contest has: async, blocking, and as a callback function itself.

import HeadgateThreads

/// A contest as its callers describe it.
struct ContestPlan<Success: Sendable, Failure: Error, Output: Sendable>: Sendable {
  let name: String
  let rule: ContestRule
  let shape: ContestShape<Success, Failure, Output>
  let count: Int
  let atMost: Int
  let losers: Losers
  var matches: (@Sendable (Success) -> Bool)?
  let discard: (@Sendable (Success) -> Void)?

  init(
    _ name: String, _ rule: ContestRule, _ shape: ContestShape<Success, Failure, Output>, count: Int, atMost: Int,
    losers: Losers, matches: (@Sendable (Success) -> Bool)? = nil, discard: (@Sendable (Success) -> Void)?
  ) {
    self.name = name
    self.rule = rule
    self.shape = shape
    self.count = count
    self.atMost = atMost
    self.losers = losers
    self.matches = matches
    self.discard = discard
  }

  /// A number that is out of its range.
  private var isInvalid: Bool {
    if case .quorum(let needed) = rule, needed < 0 || needed > count { return true }
    return atMost < 1
  }

  /// Among async functions, suspending until the outcome is there.
  nonisolated(nonsending) func run(
    _ function: @escaping @Sendable (Int) async throws(Failure) -> Success
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
    return try await join(title) { index in
      do throws(Failure) { return .success(try await function(index)) } catch { return .failure(error) }
    }
  }

  /// Among child tasks, which have all ended when it returns.
  nonisolated(nonsending) func join(
    _ title: ContestTitle, _ function: @escaping @Sendable (Int) async -> ContestEnd<Success, Failure>
  ) async throws(FlowError<Failure>) -> Output {
    let contest = Contest<Success, Failure>(rule, count: count, atMost: atMost)
    return try shape.output(await contest.run(discard: discard, matches: matches, function), title).get()
  }

  /// Among callback functions, blocking the calling thread until the outcome is there.
  @available(*, noasync)
  func block(
    until deadline: Deadline, _ call: @escaping @Sendable (Int, Completion<Success, Failure>) -> Void
  ) throws(FlowError<Failure>) -> Output {
    let title = ContestTitle(name, of: count)
    return try CallWait.block(until: deadline, settles: true, asCallback(call))
      .settled(title.operation, since: title.start)
  }

  /// Among callback functions, as one.
  func asCallback(
    _ call: @escaping @Sendable (Int, Completion<Success, Failure>) -> Void
  ) -> CallbackFunction<Output, FlowError<Failure>> {
    { completion in
      let title = ContestTitle(name, of: count)
      guard !isInvalid else { return completion.fail(title.error(.invalidArgument)) }
      let terms = CallbackContest<Success, Failure>.Terms(
        losers: losers, duties: completion.call.duties, matches: matches, discard: discard, call: call)
      let contest = CallbackContest(
        Contest<Success, Failure>(rule, count: count, atMost: atMost), terms,
        listener: .init { outcome in completion(shape.output(outcome, title)) })
      completion.call.attach(
        .init { code in
          contest.cancel(code)
        } discard: { [shape, discard] output in
          if let discard { for success in shape.successes(output) { discard(success) } }
        })
      contest.run()
    }
  }
}
