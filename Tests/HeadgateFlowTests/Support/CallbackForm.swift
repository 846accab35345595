import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// A combinator brought to one shape: as a callback function, which the blocking form waits for.
struct CallbackForm: Sendable, CustomTestStringConvertible {
  let name: String
  let block:
    @Sendable (Int, Losers, Deadline, (@Sendable (Int) -> Void)?, [CallbackFunction<Int, Oops>]) throws(FlowError<Oops>)
      -> [Int]
  let function:
    @Sendable (Int, Losers, (@Sendable (Int) -> Void)?, [CallbackFunction<Int, Oops>]) -> CallbackFunction<
      [Int], FlowError<Oops>
    >

  var testDescription: String { name }

  private static func one(_ function: @escaping CallbackFunction<Int, FlowError<Oops>>) -> CallbackFunction<
    [Int], FlowError<Oops>
  > {
    { completion in function(completion.mapped { [$0] }) }
  }

  private static func settled(
    _ function: @escaping CallbackFunction<[Result<Int, FlowError<Oops>>], FlowError<Oops>>
  ) -> CallbackFunction<[Int], FlowError<Oops>> {
    { completion in
      function(
        completion.beneath { (end: CallEnd<[Result<Int, FlowError<Oops>>], FlowError<Oops>>) in
          switch end {
          case .success(let results):
            if case .failure(let error)? = results.first(where: { (try? $0.get()) == nil }) { return .failure(error) }
            return .success(results.compactMap { try? $0.get() })
          case .failure(let failure): return .failure(failure)
          case .missing(let code, let error): return .missing(code, error)
          }
        })
    }
  }

  static let all: [CallbackForm] = [
    CallbackForm(name: "firstToSucceed") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      [try firstToSucceed(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)]
    } function: { atMost, losers, discard, functions in
      one(firstToSucceed(atMost: atMost, losers: losers, discard: discard, functions))
    },
    CallbackForm(name: "allSucceed") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      try allSucceed(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)
    } function: { atMost, losers, discard, functions in
      allSucceed(atMost: atMost, losers: losers, discard: discard, functions)
    },
    CallbackForm(name: "race") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      [try race(atMost: atMost, losers: losers, until: deadline, discard: discard, functions)]
    } function: { atMost, losers, discard, functions in
      one(race(atMost: atMost, losers: losers, discard: discard, functions))
    },
    CallbackForm(name: "quorum") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      try quorum(functions.count, of: functions, atMost: atMost, losers: losers, until: deadline, discard: discard)
    } function: { atMost, losers, discard, functions in
      quorum(functions.count, of: functions, atMost: atMost, losers: losers, discard: discard)
    },
    CallbackForm(name: "firstMatching") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      [
        try firstMatching(functions, atMost: atMost, losers: losers, until: deadline, discard: discard) { $0 >= 0 }
      ]
    } function: { atMost, losers, discard, functions in
      one(firstMatching(functions, atMost: atMost, losers: losers, discard: discard) { $0 >= 0 })
    },
    CallbackForm(name: "allSettled") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      var values: [Int] = []
      for result in try allSettled(
        atMost: atMost, losers: losers, until: deadline, discard: discard, functions)
      {
        values.append(try result.get())
      }
      return values
    } function: { atMost, losers, discard, functions in
      settled(allSettled(atMost: atMost, losers: losers, discard: discard, functions))
    },
    CallbackForm(name: "mapConcurrently") { atMost, losers, deadline, discard, functions throws(FlowError<Oops>) in
      try functions.mapConcurrently(limit: atMost, losers: losers, until: deadline, discard: discard) { $0($1) }
    } function: { atMost, losers, discard, functions in
      allSucceed(atMost: atMost, losers: losers, discard: discard, functions)
    },
  ]
}
