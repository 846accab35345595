import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// The state of an operation as a value, with and without interceptors, under random events. Every kind of end may come
/// between any two steps of the parties.
@Suite struct OperationStateRandomTests {
  @Test(
    "D120 in any order of events each request ends once; its permit, its timers and its expectation return once each",
    arguments: 0..<400)
  func anything(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for round in 0..<25 {
      let exerciser = try OperationExerciser(isIntercepted: round % 4 != 0)
      for step in 0..<60 {
        // Most are left alone for a while, so that they reach late stages.
        if step > 4, Int.random(in: 0..<25, using: &random) == 0 { exerciser.meddle(&random) }
        exerciser.step(&random)
        #expect(exerciser.violations == [], "seed \(seed), round \(round), step \(step)")
      }
      exerciser.finish(&random)
      #expect(exerciser.violations == [], "seed \(seed), round \(round), at the end")
      if !exerciser.violations.isEmpty { return }
    }
  }

  @Test("the random events reach every stage and every path", arguments: [true, false])
  func reach(isIntercepted: Bool) throws {
    var seen: Set<String> = []
    for seed in UInt64(0)..<600 {
      var random = SeededRandom(seed: seed)
      let exerciser = try OperationExerciser(isIntercepted: isIntercepted)
      for _ in 0..<60 { exerciser.step(&random) }
      exerciser.meddle(&random)
      exerciser.finish(&random)
      seen.formUnion(exerciser.seen)
    }
    let always: Set = [
      "granted", "redirected", "put off", "rested", "sent again", "held", "long", "asked", "credential", "drains",
      "ended inside", "void", "rest", "whole", "failed", "given up",
    ]
    let intercepted: Set = ["prepared", "outdated", "renewed", "gave back", "kept", "reviewed", "refused"]
    #expect(seen.isSuperset(of: isIntercepted ? always.union(intercepted) : always.union(["led elsewhere"])))
  }
}
