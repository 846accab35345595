import HeadgateThreads
import Testing

@Suite struct TimerQueueTests {
  /// A queue whose actions record their number.
  private struct Numbered: ~Copyable {
    var timers = TimerQueue()
    let calls = Record<Int>()

    mutating func insert(_ number: Int, at nanoseconds: UInt64) -> TimerQueue.Key {
      let calls = calls
      return timers.insert(at: Deadline(nanoseconds: nanoseconds)) { calls.add(number) }
    }

    /// Makes all due calls, and returns all numbers so far.
    mutating func advance(to nanoseconds: UInt64) -> [Int] {
      while let action = timers.popDue(at: Deadline(nanoseconds: nanoseconds)) { action() }
      return calls.events
    }
  }

  @Test("Calls come in the order of deadlines, and not early")
  func order() {
    var queue = Numbered()
    for (number, moment) in [30, 10, 20, 40].enumerated() { _ = queue.insert(number, at: UInt64(moment)) }
    #expect(queue.timers.nextDeadline == Deadline(nanoseconds: 10))
    #expect(queue.advance(to: 9) == [])
    #expect(queue.advance(to: 10) == [1])
    #expect(queue.timers.nextDeadline == Deadline(nanoseconds: 20))
    #expect(queue.advance(to: 39) == [1, 2, 0])
    #expect(queue.timers.count == 1)
    #expect(queue.advance(to: 1000) == [1, 2, 0, 3])
    #expect(queue.timers.count == 0)
    #expect(queue.timers.nextDeadline == nil)
  }

  @Test("P72 equal deadlines come first in, first out")
  func equalDeadlines() {
    var queue = Numbered()
    var keys: [TimerQueue.Key] = []
    for number in 0..<1000 { keys.append(queue.insert(number, at: number % 2 == 0 ? 5 : 7)) }
    // Removing some moves others in the heap, and their order must survive that.
    for number in stride(from: 0, to: 1000, by: 3) { #expect(queue.timers.remove(keys[number]) != nil) }
    let left = (0..<1000).filter { $0 % 3 != 0 }
    #expect(queue.advance(to: 7) == left.filter { $0 % 2 == 0 } + left.filter { $0 % 2 == 1 })
  }

  @Test("P71 a cancellation in time returns the action, afterwards nothing")
  func remove() {
    var queue = Numbered()
    let first = queue.insert(1, at: 10)
    let second = queue.insert(2, at: 20)
    #expect(queue.advance(to: 10) == [1])
    #expect(queue.timers.remove(first) == nil)
    let action = queue.timers.remove(second)
    action?()
    #expect(queue.calls.events == [1, 2])
    #expect(queue.timers.remove(second) == nil)
    #expect(queue.advance(to: 100) == [1, 2])
  }

  @Test("P15 a stale key removes nothing, though another timer is in its slot", arguments: [1, 3000])
  func generations(count: Int) {
    var queue = Numbered()
    // More than 1,024 make the queue free its memory when it is empty, and start over.
    let old = (0..<count).map { queue.insert($0, at: UInt64($0)) }
    for key in old { #expect(queue.timers.remove(key) != nil) }
    let new = (0..<count).map { queue.insert($0, at: UInt64($0)) }
    for key in old { #expect(queue.timers.remove(key) == nil) }
    #expect(queue.timers.count == count)
    #expect(Set(old).isDisjoint(with: new))
    #expect(queue.advance(to: .max) == Array(0..<count))
    for key in old + new { #expect(queue.timers.remove(key) == nil) }
  }

  @Test("P13 the generations of keys wrap, and earlier keys still remove nothing")
  func generationsWrap() {
    var timers = TimerQueue(after: .max - 2)
    var old: [TimerQueue.Key] = []
    // One slot, used repeatedly: only the generation distinguishes its timers.
    for _ in 0..<6 {
      let key = timers.insert(at: Deadline(nanoseconds: 5)) {}
      #expect(!old.contains(key))
      for stale in old { #expect(timers.remove(stale) == nil) }
      #expect(timers.count == 1)
      #expect(timers.remove(key) != nil)
      old.append(key)
    }
    #expect(Set(old.map(\.slot)).count == 1)
    #expect(old.map(\.generation) == [.max - 1, .max, 0, 1, 2, 3])
  }

  @Test("P73 deadlines 0, +292 years and the one before never are reached, distantFuture is not")
  func extremes() {
    var queue = Numbered()
    let never = queue.insert(0, at: .max)
    _ = queue.insert(1, at: .max - 1)
    _ = queue.insert(2, at: UInt64(Int64.max))
    _ = queue.insert(3, at: 0)
    #expect(queue.advance(to: 0) == [3])
    #expect(queue.advance(to: UInt64(Int64.max)) == [3, 2])
    #expect(queue.advance(to: .max) == [3, 2, 1])
    #expect(queue.timers.count == 1)
    #expect(queue.timers.nextDeadline == .distantFuture)
    #expect(queue.timers.remove(never) != nil)
    #expect(queue.timers.count == 0)
  }

  @Test("An action's captures are released with it, not with its slot")
  func captures() {
    var timers = TimerQueue()
    let census = Census()
    func insert() -> TimerQueue.Key {
      let token = census.token()
      return timers.insert(at: Deadline(nanoseconds: 5)) { token.hold() }
    }
    _ = insert()
    let key = insert()
    _ = insert()
    #expect(census.alive == 3)
    _ = timers.popDue(at: Deadline(nanoseconds: 5))
    #expect(census.alive == 2)
    _ = timers.remove(key)
    #expect(census.alive == 1)
    #expect(timers.count == 1)
  }

  @Test("P70 random inserts, cancels and advances against a sorted array", arguments: [1, 2] as [UInt64], [2, 30])
  func model(seed: UInt64, cancels: Int) {
    var random = SeededRandom(seed: seed)
    var queue = Numbered()
    // In the order of insertion; a stable sort by deadline gives the order of the calls.
    var pending: [(moment: UInt64, number: Int, key: TimerQueue.Key)] = []
    var gone: [TimerQueue.Key] = []
    var expected: [Int] = []
    var now: UInt64 = 0
    var sweeps = 0
    for number in 0..<1200 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        // Many in the far future, so that their dead entries are reached by a sweep and not by the clock.
        for number in number * 100..<number * 100 + cancels {
          let moment = now + UInt64.random(in: 0..<(number % 2 == 0 ? 50 : 1 << 40), using: &random)
          pending.append((moment, number, queue.insert(number, at: moment)))
        }
      case 6, 7:
        let places = queue.timers.placeCount
        for _ in 0..<cancels * 2 {
          guard let place = pending.indices.randomElement(using: &random) else { continue }
          gone.append(pending[place].key)
          pending.swapAt(place, pending.count - 1)
          let key = pending.removeLast().key
          if queue.timers.remove(key) == nil { Issue.record("a pending timer was not found") }
        }
        if queue.timers.placeCount + 1024 < places { sweeps += 1 }
        #expect(queue.timers.nextDeadline?.nanoseconds == pending.map(\.moment).min())
      case 8:
        if let key = gone.randomElement(using: &random) { #expect(queue.timers.remove(key) == nil) }
      default:
        now += UInt64.random(in: 0..<60, using: &random)
        // Numbers grow with the order of insertion.
        let due = pending.filter { $0.moment <= now }.sorted { ($0.moment, $0.number) < ($1.moment, $1.number) }
        pending.removeAll { $0.moment <= now }
        gone += due.map(\.key)
        expected += due.map(\.number)
        #expect(queue.advance(to: now) == expected)
        #expect(queue.timers.nextDeadline?.nanoseconds == pending.map(\.moment).min())
      }
      #expect(queue.timers.count == pending.count)
      #expect(queue.timers.placeCount <= pending.count + max(1024, pending.count / 2))
    }
    #expect(queue.advance(to: .max).count == expected.count + pending.count)
    if cancels > 2 { #expect(sweeps > 0, "the model never saw a sweep") }
  }

  @Test("P74 dead entries are swept, and the memory of many timers is freed while one is left")
  func memory() {
    var queue = Numbered()
    let one = queue.insert(0, at: 7)
    var keys = (1...50_000).map { queue.insert($0, at: UInt64(1000 + $0)) }
    #expect(queue.timers.chunksInUse >= 50_000 / 64)
    var random = SeededRandom(seed: 74)
    keys.shuffle(using: &random)
    for key in keys where queue.timers.remove(key) == nil { Issue.record("a pending timer was not found") }
    #expect(queue.timers.count == 1)
    #expect(queue.timers.placeCount <= 1 + 1025)
    #expect(queue.timers.chunksInUse <= 1 + 1025 + 1)
    #expect(queue.timers.nextDeadline == Deadline(nanoseconds: 7))
    // As many again, which all become due.
    for number in 0..<50_000 { _ = queue.insert(number, at: 3) }
    #expect(queue.advance(to: 3) == Array(0..<50_000))
    #expect(queue.timers.remove(one) != nil)
    #expect(queue.timers.nextDeadline == nil)
    #expect(queue.timers.chunksInUse <= 2)
    // The numbers of freed chunks are used again, so the table of chunks does not grow.
    for round in 1...20 {
      for number in 0..<5_000 { _ = queue.insert(number, at: 3) }
      #expect(queue.advance(to: 3).count == 50_000 + round * 5_000)
    }
    #expect(queue.insert(0, at: 3).slot < 51_200)
  }
}
