import HeadgateTesting
import Testing

@testable import HeadgateFlow

/// The rules, without threads.
@Suite struct ContestTests {
  typealias Trial = Contest<Int, Oops>

  private static let rules: [ContestRule] = [
    .allSucceed, .allSettled, .firstToSucceed, .race, .firstMatching, .quorum(0), .quorum(1), .quorum(2), .quorum(3),
  ]

  /// What came of it, in words.
  private static func words(_ outcome: ContestOutcome<Int, Oops>) -> String {
    switch outcome {
    case .winner(let index, let value): "winner \(index): \(value)"
    case .values(let values): "values \(values)"
    case .ends(let ends, let code):
      "ends \(ends.map { $0.map { word($0) } ?? "-" }.joined(separator: " ")) \(code?.description ?? "")"
    case .failure(let failure):
      "\(failure.code) \(failure.failures.map(\.number)) of \(failure.inputs) by \(failure.deciding ?? -1)"
    }
  }

  private static func word(_ end: ContestEnd<Int, Oops>) -> String {
    switch end {
    case .success(let value): "\(value)"
    case .failure(let failure): "!\(failure.number)"
    case .missing: "?"
    }
  }

  /// The outcome as the documentation says it, worked out anew from all that happened before it was decided.
  private static func expected(
    _ rule: ContestRule, _ count: Int, _ events: [(Int, ContestEnd<Int, Oops>, matches: Bool)], _ code: FlowErrorCode?
  ) -> String? {
    func failure(_ code: FlowErrorCode, upTo last: Int? = nil, only: Int? = nil) -> String {
      var failed: [(Int, Oops)] = []
      for (index, end, _) in events {
        if case .failure(let failure) = end, only == nil || only == index { failed.append((index, failure)) }
      }
      failed.sort { $0.0 < $1.0 }
      let deciding = last.flatMap { last in failed.firstIndex { $0.0 == last } } ?? -1
      return "\(code) \(failed.map(\.1.number)) of \(failed.map(\.0)) by \(deciding)"
    }
    func failedBy(_ event: (Int, ContestEnd<Int, Oops>, matches: Bool), only: Int? = nil) -> String {
      if case .missing(let code) = event.1 { return failure(code, upTo: event.0, only: only) }
      return failure(.failed, upTo: event.0, only: only)
    }
    func values() -> String {
      "values \(events.filter { $0.1.success != nil }.sorted { $0.0 < $1.0 }.compactMap { $0.1.success })"
    }
    let successes = events.count { $0.1.success != nil }
    switch rule {
    case .race:
      if let first = events.first {
        if let value = first.1.success { return "winner \(first.0): \(value)" }
        return failedBy(first)
      }
    case .firstToSucceed:
      if let last = events.last, let value = last.1.success { return "winner \(last.0): \(value)" }
      if events.count == count, count > 0 { return failure(.allFailed) }
    case .firstMatching:
      if let last = events.last, let value = last.1.success, last.matches || events.count == count {
        return "winner \(last.0): \(value)"
      }
      if events.count == count, let last = events.last { return failedBy(last) }
    case .allSucceed:
      if let last = events.last, last.1.success == nil { return failedBy(last) }
      if successes == count { return values() }
    case .quorum(let needed):
      if successes == needed { return values() }
      if count - (events.count - successes) < needed, let last = events.last {
        return failure(.quorumMissed, upTo: last.0)
      }
    case .allSettled:
      if events.count == count || code != nil {
        var ends = [String](repeating: "-", count: count)
        for (index, end, _) in events { ends[index] = word(end) }
        return "ends \(ends.joined(separator: " ")) \(code?.description ?? "")"
      }
    }
    if let code { return failure(code) }
    return count == 0 ? "no_input [] of [] by -1" : nil
  }

  @Test("Random ends and cancellations: the outcome is what the documentation says, and no rule is ever broken")
  func random() {
    for seed in 0..<4000 {
      var random = SeededRandom(seed: UInt64(seed))
      let rule = Self.rules[Int.random(in: 0..<Self.rules.count, using: &random)]
      let count = Int.random(in: 0...6, using: &random)
      if case .quorum(let needed) = rule, needed > count { continue }
      let atMost = Int.random(in: 1...4, using: &random)
      exercise(rule, count, atMost, &random, "seed \(seed): \(rule) of \(count), at most \(atMost)")
    }
  }

  private func exercise(
    _ rule: ContestRule, _ count: Int, _ atMost: Int, _ random: inout SeededRandom, _ comment: Comment
  ) {
    var contest = Trial(rule, count: count, atMost: atMost)
    var running: [Int] = []
    var startedCount = 0
    var events: [(Int, ContestEnd<Int, Oops>, matches: Bool)] = []
    var code: FlowErrorCode?
    var (given, kept) = (Set<Int>(), Set<Int>())
    while true {
      while let index = contest.start() {
        #expect(index == startedCount && !contest.isSettled, comment)
        startedCount += 1
        running.append(index)
      }
      #expect(running.count <= atMost && contest.running == running.count, comment)
      #expect(contest.isSettled || running.count == min(atMost, count - events.count), "starts what it may: \(comment)")
      if contest.isOver { break }
      if Int.random(in: 0..<12, using: &random) == 0, !contest.isSettled {
        code = .cancelled
        contest.cancel(.cancelled)
        #expect(contest.isSettled, comment)
        continue
      }
      let index = running.remove(at: Int.random(in: 0..<running.count, using: &random))
      let matches = Bool.random(using: &random)
      let end: ContestEnd<Int, Oops> =
        switch Int.random(in: 0..<5, using: &random) {
        case 0...2: .success(index * 10)
        case 3: .failure(Oops(number: index))
        default: .missing(.unanswered)
        }
      if !contest.isSettled || rule == .allSettled { events.append((index, end, matches)) }
      if let value = end.success { given.insert(value) }
      if let leftover = contest.end(index, end, matches: matches) { #expect(kept.insert(leftover).inserted, comment) }
    }
    #expect(contest.start() == nil, comment)
    let (outcome, leftovers) = contest.conclude()
    #expect(Self.words(outcome) == Self.expected(rule, count, events, code), comment)
    for leftover in leftovers { #expect(kept.insert(leftover).inserted, comment) }
    switch outcome {
    case .winner(_, let value): kept.insert(value)
    case .values(let values): kept.formUnion(values)
    case .ends(let ends, _): kept.formUnion(ends.compactMap { $0?.success })
    case .failure: break
    }
    #expect(kept == given, "every success is the result or handed back, once: \(comment)")
  }

  @Test("P94 without functions: an empty result where that is one, else no input")
  func empty() {
    func outcome(_ rule: ContestRule) -> String {
      var contest = Trial(rule, count: 0)
      #expect(contest.isOver)
      return Self.words(contest.conclude().outcome)
    }
    #expect(outcome(.allSucceed) == "values []")
    #expect(outcome(.allSettled) == "ends  ")
    #expect(outcome(.quorum(0)) == "values []")
    for rule in [ContestRule.firstToSucceed, .race, .firstMatching] {
      #expect(outcome(rule) == "no_input [] of [] by -1")
    }
  }

  @Test("It can be concluded as soon as it is settled, while others still run")
  func abandoned() {
    var contest = Trial(.firstToSucceed, count: 3)
    for index in 0..<3 { #expect(contest.start() == index) }
    #expect(contest.end(1, .failure(Oops(number: 1))) == nil)
    #expect(contest.end(2, .success(20)) == nil)
    #expect(contest.isSettled && !contest.isOver)
    #expect(Self.words(contest.conclude().outcome) == "winner 2: 20")
    #expect(contest.end(0, .success(0)) == 0)
  }
}
