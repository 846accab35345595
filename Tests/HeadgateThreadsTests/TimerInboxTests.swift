import Testing

@testable import HeadgateThreads

/// The next step of a timer thread, without the thread.
@Suite struct TimerInboxTests {
  /// Plays the thread's part: every turn at the same time, with the callers' actions between turns.
  private struct Thread: ~Copyable {
    var inbox = TimerInbox()
    var heap = TimerHeap()
    var now: UInt64 = 1000

    @discardableResult
    mutating func insert(at deadline: UInt64, _ called: @escaping @Sendable () -> Void) -> TimerQueue.Key {
      inbox.insert(at: Deadline(nanoseconds: deadline), TimerQueue.Action(called)).key
    }

    /// One turn. Returns false if it would sleep.
    mutating func turn() -> Bool {
      switch inbox.turn(first: heap.min, now: now) {
      case .stop, .sleep: return false
      case .sweep: Issue.record("nothing was cancelled")
      case .sortIn:
        var arrivals: [TimerEntry] = []
        inbox.takeArrivals(&arrivals)
        heap.push(contentsOf: arrivals)
      case .call(let action):
        heap.popMin()
        action?()
      }
      return true
    }
  }

  @Test("A due timer is called while others are set all the time")
  func flood() {
    var thread = Thread()
    let called = Count()
    for deadline in 1...10 { thread.insert(at: UInt64(deadline)) { called.add() } }
    // Sorts them in.
    _ = thread.turn()
    for turn in 0..<10 {
      // Another one has arrived at every check of the thread.
      thread.insert(at: 2000) {}
      _ = thread.turn()
      #expect(called.value == turn + 1)
    }
  }

  @Test("Calls keep the order of their deadlines, including those that arrive when others are due", arguments: 0..<10)
  func order(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var thread = Thread()
    let called = Record<UInt64>()
    var pending: [UInt64] = []
    for _ in 0..<2000 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        let deadline = UInt64.random(in: 0..<3000, using: &random)
        pending.append(deadline)
        thread.insert(at: deadline) { called.add(deadline) }
      }
      thread.now += UInt64.random(in: 0..<2, using: &random)
      let before = called.events.count
      let isAwake = thread.turn()
      if let deadline = called.events.dropFirst(before).first {
        #expect(deadline <= thread.now && deadline == pending.min())
        pending.remove(at: pending.firstIndex(of: deadline) ?? 0)
      } else if !isAwake {
        #expect(pending.allSatisfy { $0 > thread.now })
      }
    }
    #expect(called.events.count > 300)
  }
}
