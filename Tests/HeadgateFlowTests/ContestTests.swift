import HeadgateTesting
import Testing

@testable import HeadgateFlow

/// The rule of all contests, without threads.
@Suite struct ContestTests {
  private typealias Verdict = Contest<Int>.Verdict

  /// The verdict according to the documentation, computed anew from everything before it.
  private static func expected(
    _ count: Int, _ needed: Int, _ events: [(index: Int, counts: Bool)], _ isCancelled: Bool
  ) -> Verdict? {
    if events.count(where: \.counts) == needed { return .won }
    if count - events.count(where: { !$0.counts }) < needed { return events.last.map { .lost(by: $0.index) } }
    return isCancelled ? .cancelled : nil
  }

  @Test("Random ends and cancellations: the verdict is that of the documentation, and no rule is broken")
  func random() {
    for seed in 0..<4000 {
      var random = SeededRandom(seed: UInt64(seed))
      let count = Int.random(in: 0...6, using: &random)
      let needed = Int.random(in: 0...count, using: &random)
      exercise(count, needed, Int.random(in: 1...4, using: &random), &random, "seed \(seed): \(needed) of \(count)")
    }
  }

  private func exercise(
    _ count: Int, _ needed: Int, _ atMost: Int, _ random: inout SeededRandom, _ comment: Comment
  ) {
    var contest = Contest<Int>(count: count, needed: needed)
    var (running, started, isCancelled): ([Int], Int, Bool) = ([], 0, false)
    var events: [(index: Int, counts: Bool)] = []
    var (kept, given): ([Int], [Int]) = ([], [])
    while true {
      while running.count < atMost, let index = contest.start() {
        #expect(index == started && contest.verdict == nil, "in their order, none after the decision: \(comment)")
        started += 1
        running.append(index)
      }
      #expect(contest.verdict == Self.expected(count, needed, events, isCancelled), comment)
      #expect(contest.verdict != nil || running.count == min(atMost, count - events.count), "starts what it may")
      if running.isEmpty { break }
      if Int.random(in: 0..<12, using: &random) == 0 {
        isCancelled = isCancelled || contest.verdict == nil
        contest.cancel()
      }
      let index = running.remove(at: Int.random(in: 0..<running.count, using: &random))
      let isSuccess = Int.random(in: 0..<3, using: &random) > 0
      let counts = isSuccess && Int.random(in: 0..<4, using: &random) > 0
      let isDecided = contest.verdict != nil
      if !isDecided { events.append((index, counts)) }
      let isKept = contest.end(index, isSuccess ? .success(index) : .failure(Oops(number: index)), counts: counts)
      #expect(!isDecided || !isKept, "nothing is kept after the decision: \(comment)")
      if isSuccess { isKept ? kept.append(index) : given.append(index) }
    }
    #expect(contest.start() == nil && contest.verdict != nil || count == 0, comment)
    let values = contest.ends.compactMap { try? $0?.get() }
    #expect(values == kept.sorted() && Set(kept).isDisjoint(with: given), "each success once, in order: \(comment)")
    for (index, end) in contest.ends.enumerated() {
      if case .failure(let error)? = end { #expect(error as? Oops == Oops(number: index), comment) }
    }
    if contest.verdict == .won { #expect(values.count == needed, comment) }
  }

  @Test("P94 none needed: won before anything has started; a later cancellation does not change it")
  func none() {
    for count in [0, 3] {
      var contest = Contest<Int>(count: count, needed: 0)
      contest.cancel()
      #expect(contest.verdict == .won && contest.start() == nil)
    }
  }

  @Test("A success that does not count is dropped, except for the last to end")
  func uncounted() {
    var contest = Contest<Int>(count: 2, needed: 1)
    for index in 0..<2 { #expect(contest.start() == index) }
    let (isFirstKept, isLastKept) = (
      contest.end(1, .success(1), counts: false), contest.end(0, .success(0), counts: false)
    )
    #expect(!isFirstKept && isLastKept)
    #expect(contest.verdict == .lost(by: 0))
  }
}
