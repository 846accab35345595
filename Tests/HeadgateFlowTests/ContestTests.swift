import HeadgateTesting
import Testing

@testable import HeadgateFlow

/// The rules, and the slots that they speak of, without threads.
@Suite struct ContestTests {
  /// How a function ended and what it brought, as a test makes it up.
  enum Event {
    case success(Int)
    case failure(Oops)
    case missing(FlowErrorCode)

    var success: Int? { if case .success(let value) = self { value } else { nil } }
  }

  private static let rules: [ContestRule] = [
    .allSucceed, .allSettled, .firstToSucceed, .race, .firstMatching, .quorum(0), .quorum(1), .quorum(2), .quorum(3),
  ]

  /// A contest with its slots, driven by hand. What stands in a slot is counted while it lives.
  private struct Trial {
    var contest: Contest
    let slots: ContestSlots<Census.Token, Oops>
    let census = Census()
    /// What was handed to `discard`.
    let discarded = Record<Int>()

    init(_ rule: ContestRule, count: Int, atMost: Int = .max) {
      contest = Contest(rule, count: count, atMost: atMost)
      slots = ContestSlots(count: count)
    }

    mutating func end(_ index: Int, _ event: Event, matches: Bool = true) {
      let (end, code): (ContestEnd, FlowErrorCode?)
      switch event {
      case .success(let value):
        slots.putSuccess(census.token(value), at: index)
        (end, code) = (.success, nil)
      case .failure(let failure):
        slots.putFailure(failure, at: index)
        (end, code) = (.failure, nil)
      case .missing(let reason): (end, code) = (.missing, reason)
      }
      if !contest.end(index, end, code: code, matches: matches) { drop(index, end) }
    }

    private func drop(_ index: Int, _ end: ContestEnd) {
      slots.drop(index, end) { discarded.add($0.number) }
    }

    /// What came of it, in words, and the successes that are a part of that.
    mutating func conclude() -> (words: String, successes: [Int]) {
      let outcome = contest.conclude()
      outcome.forEachLeftover(drop)
      let title = ContestTitle("trial", of: contest.count)
      func error<Output>(_ shape: ContestShape<Census.Token, Oops, Output>) -> FlowError<Oops>? {
        do throws(FlowError<Oops>) {
          _ = try shape.output(outcome, slots, title)
          return nil
        } catch {
          return error
        }
      }
      func word(_ error: FlowError<Oops>?) -> String {
        guard let error else { return "no error" }
        let deciding = error.failure.flatMap { failure in error.failures.firstIndex(of: failure) } ?? -1
        return "\(error.code) \(error.failures.map(\.number)) of \(error.inputs) by \(deciding)"
      }
      switch outcome.verdict {
      case .winner(let index):
        let value = (try? ContestShape.winner.output(outcome, slots, title))?.number ?? -1
        return ("winner \(index): \(value)", [value])
      case .values:
        let values = (try? ContestShape.values.output(outcome, slots, title))?.map(\.number) ?? [-1]
        return ("values \(values)", values)
      case .ends(let code):
        let ends = (try? ContestShape.ends.output(outcome, slots, title)) ?? []
        let words = ends.enumerated().map { index, end in
          switch end {
          case .success(let token): "\(token.number)"
          case .failure(let error) where error.code == .failed: "!\(error.failure?.number ?? -1)"
          case .failure(let error): outcome.ends[index] == nil ? "-" : "?\(error.code)"
          }
        }
        return (
          "ends \(words.joined(separator: " ")) \(code)", ends.compactMap { try? $0.get().number }
        )
      case .failure: return (word(error(ContestShape.winner)), [])
      }
    }
  }

  private static func word(_ end: Event) -> String {
    switch end {
    case .success(let value): "\(value)"
    case .failure(let failure): "!\(failure.number)"
    case .missing(let code): "?\(code)"
    }
  }

  /// The outcome as the documentation says it, worked out anew from all that happened before it was decided.
  private static func expected(
    _ rule: ContestRule, _ count: Int, _ events: [(Int, Event, matches: Bool)], _ code: FlowErrorCode?
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
    func failedBy(_ event: (Int, Event, matches: Bool), only: Int? = nil) -> String {
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
        return "ends \(ends.joined(separator: " ")) \(code ?? .cancelled)"
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
    var trial = Trial(rule, count: count, atMost: atMost)
    defer { trial.slots.deallocate() }
    var running: [Int] = []
    var startedCount = 0
    var events: [(Int, Event, matches: Bool)] = []
    var code: FlowErrorCode?
    var given: [Int] = []
    while true {
      while let index = trial.contest.start() {
        #expect(index == startedCount && !trial.contest.isSettled, comment)
        startedCount += 1
        running.append(index)
      }
      #expect(running.count <= atMost && trial.contest.running == running.count, comment)
      #expect(
        trial.contest.isSettled || running.count == min(atMost, count - events.count), "starts what it may: \(comment)")
      if trial.contest.isOver { break }
      if Int.random(in: 0..<12, using: &random) == 0, !trial.contest.isSettled {
        code = .cancelled
        trial.contest.cancel(.cancelled)
        #expect(trial.contest.isSettled, comment)
        continue
      }
      let index = running.remove(at: Int.random(in: 0..<running.count, using: &random))
      let matches = Bool.random(using: &random)
      let end: Event =
        switch Int.random(in: 0..<5, using: &random) {
        case 0...2: .success(index * 10)
        case 3: .failure(Oops(number: index))
        default: .missing(.unanswered)
        }
      if !trial.contest.isSettled || rule == .allSettled { events.append((index, end, matches)) }
      if let value = end.success { given.append(value) }
      trial.end(index, end, matches: matches)
    }
    #expect(trial.contest.start() == nil, comment)
    let (words, successes) = trial.conclude()
    #expect(words == Self.expected(rule, count, events, code), comment)
    #expect(
      (successes + trial.discarded.events).sorted() == given.sorted(),
      "every success is the result or discarded, once: \(comment)")
    #expect(trial.census.alive == 0, "and none is left in its slot: \(comment)")
  }

  @Test("P94 without functions: an empty result where that is one, else no input")
  func empty() {
    func outcome(_ rule: ContestRule) -> String {
      var trial = Trial(rule, count: 0)
      defer { trial.slots.deallocate() }
      #expect(trial.contest.isOver)
      return trial.conclude().words
    }
    #expect(outcome(.allSucceed) == "values []")
    #expect(outcome(.allSettled) == "ends  cancelled")
    #expect(outcome(.quorum(0)) == "values []")
    for rule in [ContestRule.firstToSucceed, .race, .firstMatching] {
      #expect(outcome(rule) == "no_input [] of [] by -1")
    }
  }

  @Test("It can be concluded as soon as it is settled, while others still run")
  func abandoned() {
    var trial = Trial(.firstToSucceed, count: 3)
    defer { trial.slots.deallocate() }
    for index in 0..<3 { #expect(trial.contest.start() == index) }
    trial.end(1, .failure(Oops(number: 1)))
    trial.end(2, .success(20))
    #expect(trial.contest.isSettled && !trial.contest.isOver)
    #expect(trial.conclude().words == "winner 2: 20")
    trial.end(0, .success(10))
    #expect(trial.discarded.events == [10])
    #expect(trial.census.alive == 0)
  }
}
