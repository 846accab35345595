import HeadgateThreads
import Testing

@testable import HeadgateFlow

typealias AsyncFunction<Success> = @Sendable () async throws(Oops) -> Success

/// A combinator brought to one shape, so that a rule is tested for all of them.
struct AsyncForm<Success: Sendable>: Sendable, CustomTestStringConvertible {
  let name: String
  let rule: @Sendable (Int) -> ContestRule
  let run:
    @Sendable (Int, Losers, (@Sendable (Success) -> Void)?, [AsyncFunction<Success>]) async throws(FlowError<Oops>) ->
      [Success]

  var testDescription: String { name }

  /// - Parameter matches: What `firstMatching` looks for.
  static func all(matching matches: @escaping @Sendable (Success) -> Bool) -> [AsyncForm] {
    [
      AsyncForm(name: "firstToSucceed", rule: { _ in .firstToSucceed }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        [try await firstToSucceed(throwing: Oops.self, atMost: atMost, losers: losers, discard: discard, functions)]
      },
      AsyncForm(name: "allSucceed", rule: { _ in .allSucceed }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        try await allSucceed(throwing: Oops.self, atMost: atMost, losers: losers, discard: discard, functions)
      },
      AsyncForm(name: "race", rule: { _ in .race }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        [try await race(throwing: Oops.self, atMost: atMost, losers: losers, discard: discard, functions)]
      },
      AsyncForm(name: "quorum", rule: { .quorum($0) }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        try await quorum(
          throwing: Oops.self, functions.count, of: functions, atMost: atMost, losers: losers, discard: discard)
      },
      AsyncForm(name: "firstMatching", rule: { _ in .firstMatching }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        [
          try await firstMatching(
            throwing: Oops.self, functions, atMost: atMost, losers: losers, discard: discard, matches)
        ]
      },
      AsyncForm(name: "allSettled", rule: { _ in .allSettled }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        let results = try await allSettled(
          throwing: Oops.self, atMost: atMost, losers: losers, discard: discard, functions)
        return try allOrFirstFailure(results, discard)
      },
      AsyncForm(name: "mapConcurrently", rule: { _ in .allSucceed }) {
        atMost, losers, discard, functions async throws(FlowError<Oops>) in
        try await functions.mapConcurrently(limit: atMost, losers: losers, discard: discard) {
          function async throws(Oops) in try await function()
        }
      },
    ]
  }
}

/// The successes if all are; else the first failure, and the successes are discarded.
func allOrFirstFailure<Success>(
  _ results: [Result<Success, FlowError<Oops>>], _ discard: ((Success) -> Void)?
) throws(FlowError<Oops>) -> [Success] {
  let values = results.compactMap { try? $0.get() }
  for case .failure(let error) in results {
    if let discard { values.forEach(discard) }
    throw error
  }
  return values
}
