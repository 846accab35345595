import Testing

@testable import HeadgateThreads

/// The pool's queue compared with an array, on one thread.
@Suite struct PoolQueueTests {
  private final class Marks {
    var last = -1
  }

  private static func entry(_ number: Int, _ marks: Marks) -> PoolEntry {
    .closure(Closure { marks.last = number })
  }

  private static func number(_ entry: PoolEntry?, _ marks: Marks) throws -> Int? {
    guard case .closure(let closure) = entry else { return nil }
    try closure()
    return marks.last
  }

  @Test("P63 it agrees with an array, even while its counters wrap", arguments: [0, Int.max - 2, Int.max - 100, -3])
  func model(start: Int) throws {
    let marks = Marks()
    var queue = PoolQueue(start: start)
    var model: [[Int]] = Array(repeating: [], count: PoolPriority.levels)
    var random = SeededRandom(seed: 63)
    var entries = Array(repeating: Self.entry(-1, marks), count: 20_000)
    for step in 0..<20_000 {
      let level = Int.random(in: 0..<PoolPriority.levels, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2, 3:
        entries[step] = Self.entry(step, marks)
        queue.append(entries[step], level: level)
        model[level].append(step)
      case 4, 5:
        let highest = model.lastIndex { !$0.isEmpty }
        #expect(try Self.number(queue.take(), marks) == highest.map { model[$0].removeFirst() })
      case 6:
        // By its order of submission, which a withdrawal does not change.
        guard let index = model[level].indices.randomElement(using: &random) else { break }
        let number = model[level].remove(at: index)
        #expect(try Self.number(queue.withdraw(entries[number], level: level), marks) == number)
      default:
        let lowest = model.firstIndex { !$0.isEmpty }
        let expected = lowest.flatMap { $0 <= level ? model[$0].removeFirst() : nil }
        #expect(try Self.number(queue.popOldestOfLowest(notAbove: level).oldest, marks) == expected)
      }
      #expect(queue.count == model.reduce(0) { $0 + $1.count })
      if step % 1000 == 999 {
        while let entry = queue.take() {
          guard let highest = model.lastIndex(where: { !$0.isEmpty }) else { break }
          #expect(try Self.number(entry, marks) == model[highest].removeFirst())
        }
        queue.rest()
        queue.trim()
      }
    }
  }

  @Test("Matching entries are withdrawn, and the others keep their order")
  func withdrawal() throws {
    let marks = Marks()
    var queue = PoolQueue()
    let entries = (0..<5).map { Self.entry($0, marks) }
    for entry in entries { queue.append(entry, level: 2) }
    #expect(try Self.number(queue.withdraw(entries[1], level: 2), marks) == 1)
    #expect(queue.withdraw(entries[1], level: 2) == nil)
    #expect(queue.count == 4)
    for number in [0, 2, 3, 4] { #expect(try Self.number(queue.take(), marks) == number) }
  }

  @Test("Making room removes the ended jobs before the oldest one in passing")
  func passedJobs() throws {
    let core = PoolCore(.init(name: "model", size: 1))
    var queue = PoolQueue()
    let jobs = (0..<5).map { _ in PoolJob(core) { _ in false } }
    for job in jobs { queue.append(.job(job), level: 2) }
    for job in jobs[0..<3] { #expect(job.drop(.cancelled)) }
    let first = queue.popOldestOfLowest(notAbove: 2)
    #expect(first.ended.count == 3 && first.oldest?.isSame(as: .job(jobs[3])) == true)
    #expect(queue.count == 1)
    #expect(jobs[4].drop(.cancelled))
    let second = queue.popOldestOfLowest(notAbove: 2)
    #expect(second.oldest == nil && second.ended.count == 1 && queue.count == 0)
  }

  @Test("A queue releases its remaining entries")
  func leftovers() {
    let census = Census()
    do {
      var queue = PoolQueue()
      for level in 0..<PoolPriority.levels {
        let token = census.token()
        queue.append(.closure(Closure { token.hold() }), level: level)
      }
      #expect(census.alive == PoolPriority.levels)
    }
    #expect(census.alive == 0)
  }
}
