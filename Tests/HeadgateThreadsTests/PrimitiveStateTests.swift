import Testing

@testable import HeadgateThreads

/// The waiters of a state, and the ends of their waits. Deadlines and the withdrawals after them are separate events,
/// so that anything may happen between the two.
private struct Crowd<State: WaitLine> {
  var state: State
  /// Waiting and undecided, in the order of arrival.
  var live: [Waiter] = []
  /// Given up, and still in the line.
  var leaving: [Waiter] = []

  init(_ state: State) { self.state = state }

  /// A waiter arrives. Returns true if it need not wait.
  mutating func come() -> [Waiter]? {
    if let woken = state.admit() { return woken }
    let waiter = Waiter.ofTask()
    state.waiters.append(waiter)
    live.append(waiter)
    return nil
  }

  mutating func giveUp(_ random: inout SeededRandom) {
    guard let index = live.indices.randomElement(using: &random) else { return }
    let waiter = live.remove(at: index)
    #expect(waiter.claim(.timedOut))
    leaving.append(waiter)
  }

  /// Returns true if a waiter was admitted that had given up.
  mutating func leave(_ random: inout SeededRandom) -> Bool {
    guard let index = leaving.indices.randomElement(using: &random) else { return false }
    return state.withdraw(leaving.remove(at: index))
  }

  /// Checks that exactly the first waiters were woken, in order.
  mutating func check(woken: [Waiter]) {
    #expect(woken.map(ObjectIdentifier.init) == live.prefix(woken.count).map(ObjectIdentifier.init))
    #expect(woken.allSatisfy { $0.outcome == .woken })
    live.removeFirst(min(woken.count, live.count))
  }
}

@Suite struct PrimitiveStateTests {
  @Test(
    "semaphore: no permit is lost or made, none is free beside a waiter, and none overtakes", arguments: 0..<20
  )
  func semaphore(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var left = Int.random(in: -3...3, using: &random)
    var crowd = Crowd(Semaphore.State(permits: left))
    for _ in 0..<2_000 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1, 2: if crowd.come() != nil { left -= 1 }
      case 3:
        let count = Int.random(in: -1...3, using: &random)
        let woken = crowd.state.add(count)
        left += max(0, count) - woken.count
        crowd.check(woken: woken)
      case 4: crowd.giveUp(&random)
      default: if crowd.leave(&random) { left -= 1 }
      }
      #expect(crowd.state.permits == left)
      #expect(left <= 0 || crowd.live.isEmpty)
    }
  }

  @Test("semaphore: the count of permits saturates at Int.max")
  func manyPermits() {
    var state = Semaphore.State(permits: .max)
    #expect(state.add(.max).isEmpty)
    #expect(state.permits == .max)
  }

  @Test("latch: it opens for all at once, when the count is zero, and stays open", arguments: 0..<20)
  func latch(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var left = Int.random(in: 1...40, using: &random)
    var crowd = Crowd(HeadgateThreads.Latch.State(count: left))
    for _ in 0..<400 {
      let wasOpen = left == 0
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: #expect((crowd.come() != nil) == wasOpen)
      case 2:
        let number = Int.random(in: -1...2, using: &random)
        left -= min(left, max(0, number))
        crowd.check(woken: crowd.state.countDown(number))
      case 3: crowd.giveUp(&random)
      default:
        let hasLeaver = !crowd.leaving.isEmpty
        #expect(crowd.leave(&random) == (wasOpen && hasLeaver))
      }
      #expect(crowd.state.count == left)
      #expect(left > 0 || crowd.live.isEmpty)
    }
  }

  @Test("notify: each notification goes to one, and one is kept without waiters", arguments: 0..<20)
  func notify(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var isKept = false
    var crowd = Crowd(Notify.State())
    for _ in 0..<2_000 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0, 1, 2:
        #expect((crowd.come() != nil) == isKept)
        isKept = false
      case 3:
        isKept = isKept || crowd.live.isEmpty
        crowd.check(woken: crowd.state.notifyOne().map { [$0] } ?? [])
      case 4:
        let all = crowd.live.count
        let woken = crowd.state.waiters.claimAll()
        #expect(woken.count == all)
        crowd.check(woken: woken)
      case 5: crowd.giveUp(&random)
      default: if crowd.leave(&random) { isKept = false }
      }
      #expect(crowd.state.isNotified == isKept)
      #expect(!isKept || crowd.live.isEmpty)
    }
  }

  @Test("barrier: all parties of a round continue, even those that gave up as it was complete", arguments: 0..<20)
  func barrier(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var parties = Int.random(in: 2...5, using: &random)
    var crowd = Crowd(Barrier.State(parties: parties))
    // In line, including those that are leaving; and the leaving ones that counted in a complete round.
    var present = 0
    var counted: Set<ObjectIdentifier> = []
    func complete(_ crowd: inout Crowd<Barrier.State>, _ woken: [Waiter]) {
      #expect(woken.count == crowd.live.count)
      crowd.check(woken: woken)
      counted.formUnion(crowd.leaving.map(ObjectIdentifier.init))
      present = 0
    }
    for step in 0..<2_000 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let isLast = present + 1 >= parties
        let woken = crowd.come()
        #expect((woken != nil) == isLast)
        if let woken { complete(&crowd, woken) } else { present += 1 }
      case 2: crowd.giveUp(&random)
      case 3:
        guard let leaver = crowd.leaving.first else { continue }
        crowd.leaving.removeFirst()
        let passed = crowd.state.withdraw(leaver)
        #expect(passed == (counted.remove(ObjectIdentifier(leaver)) != nil))
        if !passed { present -= 1 }
      default:
        guard step % 50 == 0, parties > 1 else { continue }
        parties -= 1
        let woken = crowd.state.leave()
        if present >= parties, present > 0 { complete(&crowd, woken) } else { #expect(woken.isEmpty) }
      }
      #expect(crowd.state.waiters.count == present)
      #expect(present < parties)
    }
  }
}
