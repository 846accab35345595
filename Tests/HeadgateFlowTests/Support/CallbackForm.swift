import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// A combinator brought to one shape: as a callback function, and as the blocking form.
struct CallbackForm<Success: Sendable>: Sendable, CustomTestStringConvertible {
  typealias Function = CallbackFunction<Success, Oops>
  typealias Results = [Result<Success, FlowError<Oops>>]

  let name: String
  let rule: @Sendable (Int) -> ContestRule
  let block:
    @Sendable (Int, Losers, Deadline, (@Sendable (Success) -> Void)?, [Function]) throws(FlowError<Oops>) -> [Success]
  let function:
    @Sendable (Int, Losers, (@Sendable (Success) -> Void)?, [Function]) -> CallbackFunction<[Success], FlowError<Oops>>

  var testDescription: String { name }

  private static func one(
    _ function: @escaping CallbackFunction<Success, FlowError<Oops>>
  ) -> CallbackFunction<[Success], FlowError<Oops>> {
    { completion in function(completion.mapped { [$0] }) }
  }

  private static func settled(
    _ function: @escaping CallbackFunction<Results, FlowError<Oops>>, _ discard: (@Sendable (Success) -> Void)?
  ) -> CallbackFunction<[Success], FlowError<Oops>> {
    { completion in
      function(
        completion.beneath { (end: CallEnd<Results, FlowError<Oops>>) in
          switch end {
          case .success(let results):
            do throws(FlowError<Oops>) { return .success(try allOrFirstFailure(results, discard)) } catch {
              return .failure(error)
            }
          case .failure(let failure): return .failure(failure)
          case .missing(let code, let error): return .missing(code, error)
          }
        })
    }
  }

  /// - Parameter matches: What `firstMatching` looks for.
  static func all(matching matches: @escaping @Sendable (Success) -> Bool) -> [CallbackForm] {
    [
      CallbackForm(name: "firstToSucceed", rule: { _ in .firstToSucceed }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        [try firstToSucceed(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)]
      } function: { atMost, losers, discard, functions in
        one(firstToSucceed(atMost: atMost, losers: losers, discard: discard, functions))
      },
      CallbackForm(name: "allSucceed", rule: { _ in .allSucceed }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        try allSucceed(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)
      } function: { atMost, losers, discard, functions in
        allSucceed(atMost: atMost, losers: losers, discard: discard, functions)
      },
      CallbackForm(name: "race", rule: { _ in .race }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        [try race(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)]
      } function: { atMost, losers, discard, functions in
        one(race(atMost: atMost, losers: losers, discard: discard, functions))
      },
      CallbackForm(name: "quorum", rule: { .quorum($0) }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        try quorum(functions.count, of: functions, atMost: atMost, losers: losers, until: deadline, discard: discard)
      } function: { atMost, losers, discard, functions in
        quorum(functions.count, of: functions, atMost: atMost, losers: losers, discard: discard)
      },
      CallbackForm(name: "firstMatching", rule: { _ in .firstMatching }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        [
          try firstMatching(functions, atMost: atMost, losers: losers, until: deadline, discard: discard, matches)
        ]
      } function: { atMost, losers, discard, functions in
        one(firstMatching(functions, atMost: atMost, losers: losers, discard: discard, matches))
      },
      CallbackForm(name: "allSettled", rule: { _ in .allSettled }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        let results = try allSettled(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)
        return try allOrFirstFailure(results, discard)
      } function: { atMost, losers, discard, functions in
        settled(allSettled(atMost: atMost, losers: losers, discard: discard, functions), discard)
      },
      CallbackForm(name: "mapConcurrently", rule: { _ in .allSucceed }) {
        atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
        try functions.mapConcurrently(limit: atMost, losers: losers, until: deadline, discard: discard) { $0($1) }
      } function: { atMost, losers, discard, functions in
        functions.mapConcurrently(limit: atMost, losers: losers, discard: discard) { $0($1) }
      },
    ]
  }
}
