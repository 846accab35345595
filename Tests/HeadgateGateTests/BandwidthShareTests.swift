import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// The rules of one bandwidth limit: as fast as it allows and no faster, equal parts, and nothing lost to a slow one.
@Suite struct BandwidthShareTests {
  private static let rate = 1_000_000

  /// Transfers with pieces of their own sizes, on a clock of its own.
  private struct World {
    var share = BandwidthShare(rate: rate)
    var now = Deadline(nanoseconds: 1_000_000_000)
    var accounts: [BandwidthShare.Account]
    var handles: [BandwidthShare.Handle?]
    var moved: [Int]
    /// The time and size of each piece.
    var log: [(at: Deadline, count: Int)] = []

    init(_ count: Int) {
      accounts = []
      handles = Array(repeating: nil, count: count)
      moved = Array(repeating: 0, count: count)
      for _ in 0..<count { accounts.append(share.enter()) }
    }

    /// Moves a piece, and waits if it must.
    mutating func move(_ count: Int, by number: Int) {
      share.moved(count, by: &accounts[number], at: now)
      moved[number] += count
      log.append((now, count))
      wait(number)
    }

    /// Moves pieces until it must wait.
    mutating func moveAll(_ count: Int, by number: Int) { while handles[number] == nil { move(count, by: number) } }

    mutating func wait(_ number: Int) {
      guard share.mustWait(accounts[number], at: now) else { return }
      handles[number] = share.wait(number, accounts[number])
    }

    /// A transfer ends, and another one takes its place.
    mutating func replace(_ number: Int) {
      share.leave(handles[number])
      (handles[number], accounts[number]) = (nil, share.enter())
      wait(number)
    }

    /// Lets time pass until the next turns, at most to a limit. Returns whose turn has come.
    mutating func turns(until limit: Deadline) -> [Int] {
      guard let wakeAt = share.wakeAt(after: now), wakeAt <= limit else {
        now = limit
        return []
      }
      now = max(now, wakeAt)
      let turns = share.turns(at: now)
      for number in turns { handles[number] = nil }
      return turns
    }

    /// Lets those whose turn has come move until they must wait.
    mutating func play(until limit: Deadline, _ size: (Int) -> Int) {
      for number in turns(until: limit) { moveAll(size(number), by: number) }
    }

    /// The most that moved in any window of a length, above what the limit allows in it.
    func excess(in window: Duration) -> Double {
      var most = -Double.infinity
      var (first, sum) = (0, 0)
      for (at, count) in log {
        sum += count
        while log[first].at + window <= at {
          sum -= log[first].count
          first += 1
        }
        most = max(most, Double(sum) - window.inSeconds * Double(rate))
      }
      return most
    }
  }

  @Test("transfers with much to move get all of it, in equal parts, whatever the size of their pieces")
  func equal() {
    var world = World(8)
    let sizes = [16_000, 16_000, 16_000, 1_000, 4_000, 10_000, 16_000, 15_000]
    let end = world.now + .seconds(10)
    for number in sizes.indices { world.moveAll(sizes[number], by: number) }
    while world.now < end { world.play(until: end) { sizes[$0] } }
    let total = world.moved.reduce(0, +)
    #expect((9_900_000...10_200_000).contains(total), "\(total)")
    // They can't differ by more than their pieces.
    for moved in world.moved { #expect(abs(moved - total / 8) <= 32_000, "\(world.moved)") }
    #expect(world.excess(in: .seconds(1)) <= 8 * 16_000 + 16_000)
  }

  @Test("what a slow transfer leaves, the others take; afterwards it may make up for a few pieces only")
  func slow() {
    var world = World(2)
    let start = world.now
    // The second moves 10,000 bytes a second, and after five seconds as much as it can.
    for tenth in 1...50 {
      let end = start + .milliseconds(100 * tenth)
      world.moveAll(10_000, by: 0)
      if world.handles[1] == nil { world.move(1_000, by: 1) }
      while world.now < end {
        for number in world.turns(until: end) where number == 0 { world.moveAll(10_000, by: 0) }
      }
    }
    #expect((4_900_000...5_020_000).contains(world.moved[0]) && world.moved[1] >= 49_000, "\(world.moved)")
    let before = world.moved
    let end = start + .seconds(10)
    world.moveAll(10_000, by: 1)
    while world.now < end { world.play(until: end) { _ in 10_000 } }
    #expect(abs((world.moved[0] - before[0]) - (world.moved[1] - before[1])) <= 128 * 1024 + 20_000, "\(world.moved)")
  }

  @Test("a transfer keeps its part beside many small ones that follow each other")
  func manySmall() {
    var world = World(5)
    let end = world.now + .seconds(10)
    for number in 0..<5 { world.move(10_000, by: number) }
    while world.now < end {
      for number in world.turns(until: end) {
        world.move(10_000, by: number)
        if number > 0 { world.replace(number) }
      }
      for number in 0..<5 where world.handles[number] == nil { world.move(10_000, by: number) }
    }
    // Each of those begins one piece behind the last turn, and has moved less than a piece when it ends.
    #expect(world.moved[0] > 1_000_000, "\(world.moved)")
  }

  @Test("one that was alone need not wait until a later one has moved as much")
  func latecomer() {
    var world = World(2)
    let late = world.now + .seconds(5)
    world.moveAll(10_000, by: 0)
    while world.now < late { world.play(until: late) { _ in 10_000 } }
    let before = world.moved[0]
    let end = late + .seconds(1)
    world.replace(1)
    world.moveAll(10_000, by: 1)
    while world.now < end { world.play(until: end) { _ in 10_000 } }
    #expect(abs((world.moved[0] - before) - world.moved[1]) <= 20_000, "\(world.moved)")
  }

  @Test("without use there is no credit but for 16 ms, and a piece larger than that is paid for")
  func burst() {
    var world = World(1)
    world.now = world.now + .seconds(100)
    world.move(16_000, by: 0)
    #expect(world.handles[0] == nil, "16 ms of the limit")
    world.move(1_000_000, by: 0)
    let begin = world.now
    #expect(world.turns(until: .distantFuture) == [0])
    #expect((0.999...1.004).contains((world.now - begin).inSeconds))
  }

  @Test("a new rate applies to what is unpaid; without a limit all turns have come")
  func changes() {
    var world = World(3)
    let begin = world.now
    for number in 0..<3 { world.move(1_000_000, by: number) }
    world.share.setRate(10 * Self.rate, at: world.now)
    #expect(world.turns(until: .distantFuture) == [0])
    #expect((0.28...0.304).contains((world.now - begin).inSeconds))
    world.share.setRate(nil, at: world.now)
    #expect(world.turns(until: .distantFuture) == [1, 2] && !world.share.isOwing(at: world.now))
  }

  @Test("random transfers: never above the limit, nobody waits for ever, and no time is lost", arguments: 1...40)
  func random(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var world = World(Int.random(in: 1...12, using: &random))
    var largest = 1
    var turnsOf = Array(repeating: 0, count: world.moved.count)
    for _ in 0..<2_000 {
      let number = Int.random(in: 0..<world.moved.count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...5 where world.handles[number] == nil:
        let count = Int.random(in: 0...64_000, using: &random)
        largest = max(largest, count)
        world.move(count, by: number)
      case 6:
        world.replace(number)
      case 7: world.now = world.now + .microseconds(Int.random(in: 0...20_000, using: &random))
      default:
        guard world.share.waiting > 0 else { continue }
        let turns = world.turns(until: .distantFuture)
        #expect(!turns.isEmpty)
        for turn in turns { turnsOf[turn] += 1 }
      }
      #expect(world.share.waiting == world.handles.count { $0 != nil })
    }
    // Each transfer may be one piece ahead, and everything 16 ms.
    let ahead = Double(world.moved.count * largest + 16_000)
    for window in [Duration.milliseconds(50), .seconds(1), .seconds(10)] {
      #expect(world.excess(in: window) <= ahead)
    }
    while world.share.waiting > 0 { _ = world.turns(until: .distantFuture) }
    #expect(turnsOf.contains { $0 > 0 })
  }
}
