import Testing

@testable import HeadgateThreads

/// The pool's queue against an array, in one thread.
@Suite struct PoolQueueTests {
  private final class Marks {
    var last = -1
  }

  private static func entry(_ number: Int, _ marks: Marks) -> PoolEntry {
    .closure(PoolClosure { marks.last = number })
  }

  private static func number(_ entry: PoolEntry?, _ marks: Marks) throws -> Int? {
    guard case .closure(let closure) = entry else { return nil }
    try closure.call()
    return marks.last
  }

  @Test("P63 it does what an array does, also while its counters wrap", arguments: [0, Int.max - 2, Int.max - 100, -3])
  func model(start: Int) throws {
    let marks = Marks()
    var queue = PoolQueue(start: start)
    var model: [[Int]] = Array(repeating: [], count: PoolPriority.levels)
    var random = SeededRandom(seed: 63)
    let batch = UnsafeMutablePointer<PoolEntry>.allocate(capacity: 8)
    defer { batch.deallocate() }
    for step in 0..<20_000 {
      let level = Int.random(in: 0..<PoolPriority.levels, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2, 3:
        queue.append(Self.entry(step, marks), level: level)
        model[level].append(step)
      case 4:
        queue.prepend(Self.entry(step, marks), level: level)
        model[level].insert(step, at: 0)
      case 5:
        let highest = model.lastIndex { !$0.isEmpty }
        #expect(try Self.number(queue.popFirst(), marks) == highest.map { model[$0].removeFirst() })
      case 6:
        let limit = Int.random(in: 1...8, using: &random)
        let (count, from) = queue.take(limit, to: batch)
        guard let highest = model.lastIndex(where: { !$0.isEmpty }) else {
          #expect(count == 0)
          break
        }
        #expect(from == highest && count == min(limit, model[highest].count))
        for index in 0..<count {
          #expect(try Self.number((batch + index).move(), marks) == model[highest].removeFirst())
        }
      default:
        let lowest = model.firstIndex { !$0.isEmpty }
        let expected = lowest.flatMap { $0 <= level ? model[$0].removeFirst() : nil }
        #expect(try Self.number(queue.popOldestOfLowest(notAbove: level), marks) == expected)
      }
      #expect(queue.count == model.reduce(0) { $0 + $1.count })
      if step % 1000 == 999 {
        while let entry = queue.popFirst() {
          guard let highest = model.lastIndex(where: { !$0.isEmpty }) else { break }
          #expect(try Self.number(entry, marks) == model[highest].removeFirst())
        }
        queue.trim()
      }
    }
  }

  @Test("The newest that matches is taken back, and what it leaves keeps its order")
  func withdrawal() throws {
    let marks = Marks()
    var queue = PoolQueue()
    let entries = (0..<5).map { Self.entry($0, marks) }
    for entry in entries { queue.append(entry, level: 2) }
    #expect(try Self.number(queue.removeLast(level: 2) { $0.isSame(as: entries[1]) }, marks) == 1)
    #expect(queue.removeLast(level: 2) { $0.isSame(as: entries[1]) } == nil)
    #expect(queue.count == 4)
    for number in [0, 2, 3, 4] { #expect(try Self.number(queue.popFirst(), marks) == number) }
  }

  @Test("What is left in a queue goes with it")
  func leftovers() {
    let census = Census()
    do {
      var queue = PoolQueue()
      for level in 0..<PoolPriority.levels {
        let token = census.token()
        queue.append(.closure(PoolClosure { token.hold() }), level: level)
      }
      #expect(census.alive == PoolPriority.levels)
    }
    #expect(census.alive == 0)
  }
}
