import HeadgateFlow
import Measure

/// The combinators, compared with a hand-written task group: `Flow hand|headgate all|first CHILDREN ROUNDS`. The
/// children do nothing, so that only the combinator is measured. The hand-written group does the same: it returns
/// results in the order of the functions, keeps every failure, and cancels the rest when the result is decided.
@main
struct FlowBenchmark {
  typealias Function = @Sendable () async throws -> Int

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let children = Int(arguments[3]), let rounds = Int(arguments[4]), children > 0,
      rounds > 0
    else {
      complain("usage: \(arguments[0]) hand|headgate all|first CHILDREN ROUNDS")
    }
    let functions: [Function] = (0..<children).map { number in { number } }
    let before = Usage.now
    for _ in 0..<rounds {
      switch (arguments[1], arguments[2]) {
      case ("hand", "all"): check(try await allByHand(functions).count == children)
      case ("headgate", "all"): check(try await allSucceed(functions) { try await $0() }.count == children)
      case ("hand", "first"): check(try await firstByHand(functions) >= 0)
      case ("headgate", "first"): check(try await firstToSucceed(functions) { try await $0() } >= 0)
      default: complain("by hand or headgate; all or first")
      }
    }
    let used = Usage.now.since(before)
    printFigures(
      arguments[1], operations: rounds * children, used: used,
      [("child_us", used.seconds / Double(rounds * children) * 1e6)])
  }

  static func allByHand(_ functions: [Function]) async throws -> [Int] {
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      for (index, function) in functions.enumerated() { group.addTask { (index, try await function()) } }
      var results = [Int?](repeating: nil, count: functions.count)
      while let (index, value) = try await group.next() { results[index] = value }
      return results.compactMap { $0 }
    }
  }

  struct AllFailed: Error {
    let errors: [any Error]
  }

  static func firstByHand(_ functions: [Function]) async throws -> Int {
    try await withThrowingTaskGroup(of: (Int, Result<Int, any Error>).self) { group in
      for (index, function) in functions.enumerated() {
        group.addTask {
          do { return (index, .success(try await function())) } catch { return (index, .failure(error)) }
        }
      }
      var errors: [(any Error)?] = []
      while let (index, result) = try await group.next() {
        switch result {
        case .success(let value):
          group.cancelAll()
          return value
        case .failure(let error):
          if errors.isEmpty { errors = Array(repeating: nil, count: functions.count) }
          errors[index] = error
        }
      }
      throw AllFailed(errors: errors.compactMap { $0 })
    }
  }
}
