import HeadgateThreads
import Testing

@testable import HeadgateFlow

typealias AsyncFunction<Success> = @Sendable () async throws -> Success

/// How the combinators treat functions as inputs.
@Sendable func call<Success: Sendable>(_ function: AsyncFunction<Success>) async throws -> Success {
  try await function()
}

/// A combinator in a common form, so that a rule is tested for all of them.
struct AsyncForm<Success: Sendable>: Sendable, CustomTestStringConvertible {
  let name: String
  /// How many successes, or (`settles`) ends, of a number of functions decide.
  let needed: @Sendable (Int) -> Int
  let settles: Bool
  let run: @Sendable (Int, Losers, (@Sendable (Success) -> Void)?, [AsyncFunction<Success>]) async throws -> [Success]

  var testDescription: String { name }

  /// Whether all results are returned, and without functions an empty result.
  var givesAll: Bool { needed(2) == 2 }

  /// - Parameter matches: The condition of `firstMatching`.
  static func all(matching matches: @escaping @Sendable (Success) -> Bool) -> [AsyncForm] {
    [
      AsyncForm(name: "firstToSucceed", needed: { _ in 1 }, settles: false) { atMost, losers, discard, functions in
        [try await firstToSucceed(functions, atMost: atMost, losers: losers, discard: discard, call)]
      },
      AsyncForm(name: "allSucceed", needed: { $0 }, settles: false) { atMost, losers, discard, functions in
        try await allSucceed(functions, atMost: atMost, losers: losers, discard: discard, call)
      },
      AsyncForm(name: "race", needed: { _ in 1 }, settles: true) { atMost, losers, discard, functions in
        [try await race(functions, atMost: atMost, losers: losers, discard: discard, call)]
      },
      AsyncForm(name: "quorum", needed: { $0 }, settles: false) { atMost, losers, discard, functions in
        try await quorum(functions.count, of: functions, atMost: atMost, losers: losers, discard: discard, call)
      },
      AsyncForm(name: "firstMatching", needed: { _ in 1 }, settles: false) { atMost, losers, discard, functions in
        [try await firstMatching(functions, where: matches, atMost: atMost, losers: losers, discard: discard, call)]
      },
      AsyncForm(name: "allSettled", needed: { $0 }, settles: true) { atMost, losers, discard, functions in
        let results = try await allSettled(functions, atMost: atMost, losers: losers, discard: discard, call)
        let values = results.compactMap { try? $0.get() }
        for (index, result) in results.enumerated() {
          if case .failure(let error) = result {
            if let discard { values.forEach(discard) }
            throw FlowError(.failed, failures: [error], inputs: [index], deciding: 0, operation: "allSettled")
          }
        }
        return values
      },
      AsyncForm(name: "mapConcurrently", needed: { $0 }, settles: false) { atMost, losers, discard, functions in
        try await functions.mapConcurrently(limit: atMost, losers: losers, discard: discard, call)
      },
    ]
  }
}
