// The forms that every contest has: blocking, and as a callback function itself, and (in GroupContest.swift) async.

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
  var isInvalid: Bool {
    if case .quorum(let needed) = rule, needed < 0 || needed > count { return true }
    return atMost < 1
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
        Contest(rule, count: count, atMost: atMost), terms,
        listener: .init { outcome, slots in
          completion(Result { () throws(FlowError<Failure>) in try shape.output(outcome, slots, title) })
        })
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
