import Testing

@testable import HeadgateThreads

/// The wake policy in short, explicit sequences of calls.
@Suite struct PoolRosterTests {
  @Test("P50 if threads always start, every task of every sequence is run")
  func allRun() throws {
    for seed in 1...200 {
      var roster = PoolRoster(size: seed % 3 + 1)
      var random = SeededRandom(seed: UInt64(seed))
      var queued = 0
      var awake: Set<Int> = []
      for _ in 0..<500 {
        if Bool.random(using: &random) {
          queued += 1
          switch roster.call(forWork: queued, growing: true) {
          case .nothing: break
          case .wake(let place), .start(let place): awake.insert(place)
          }
        } else if let place = awake.sorted().randomElement(using: &random) {
          roster.look(place)
          if queued > 0 {
            queued -= 1
          } else {
            _ = roster.rest(place, mayLinger: false, flowing: false, expired: false)
            awake.remove(place)
          }
        }
        #expect(queued == 0 || !awake.isEmpty)
      }
    }
  }

  @Test("The last one parked is the first one woken")
  func lastFirst() {
    var roster = PoolRoster(size: 3)
    for place in 0..<3 {
      #expect(roster.call(forWork: place + 1, growing: true) == .start(place))
    }
    for place in [1, 0, 2] {
      roster.look(place)
      #expect(roster.rest(place, mayLinger: false, flowing: false, expired: false) == .park)
    }
    for place in [2, 0, 1] {
      #expect(roster.call(forWork: 1, growing: true) == .wake(place))
      #expect(roster.call(forWork: 5, growing: true) == .nothing)
      roster.look(place)
    }
  }

  @Test("P51 a burst wakes one worker, which wakes the next only if it leaves work behind")
  func burst() {
    var roster = PoolRoster(size: 8)
    for place in 0..<8 { _ = roster.call(forWork: place + 1, growing: true) }
    for place in 0..<8 {
      roster.look(place)
      _ = roster.rest(place, mayLinger: false, flowing: false, expired: false)
    }
    var woken = 0
    for burst in 1...100 where roster.call(forWork: burst, growing: true) != .nothing { woken += 1 }
    #expect(woken == 1)
    roster.look(7)
    #expect(roster.call(forWork: 0, growing: false) == .nothing)
    #expect(roster.call(forWork: 99, growing: false) == .wake(6))
  }

  @Test("A worker that was called counts as coming, a working one does not")
  func coming() {
    var roster = PoolRoster(size: 2)
    #expect(roster.call(forWork: 1, growing: true) == .start(0))
    #expect(roster.call(forWork: 1, growing: true) == .nothing)
    roster.look(0)
    #expect(roster.call(forWork: 1, growing: true) == .start(1))
  }

  @Test("In a reduced pool idle workers are woken to end, and busy ones end at their next check")
  func shrinks() {
    var roster = PoolRoster(size: 4)
    for place in 0..<4 { _ = roster.call(forWork: place + 1, growing: true) }
    for place in 0..<4 { roster.look(place) }
    for place in [2, 3] { _ = roster.rest(place, mayLinger: false, flowing: false, expired: false) }
    #expect(roster.resize(to: 1) == [2, 3])
    #expect(roster.available == 2)
    for place in [0, 2, 3] {
      roster.look(place)
      #expect(roster.retire(place) == true)
      roster.leave(place)
    }
    roster.look(1)
    #expect(roster.retire(1) == false)
    #expect(roster.threads == 1)
    #expect(roster.resize(to: 2) == [])
    #expect(roster.call(forWork: 1, growing: true) == .start(3))
  }

  @Test("A blocked worker is replaced temporarily")
  func standIn() {
    var roster = PoolRoster(size: 1)
    #expect(roster.call(forWork: 1, growing: true) == .start(0))
    roster.look(0)
    #expect(roster.call(forWork: 1, growing: true) == .nothing)
    roster.block()
    #expect(roster.call(forWork: 1, growing: true) == .start(1))
    roster.look(1)
    _ = roster.rest(1, mayLinger: false, flowing: false, expired: false)
    #expect(roster.unblock() == [1])
    roster.look(1)
    #expect(roster.retire(1) == true)
  }

  @Test("A watcher replaces wake-ups only while tasks arrive and others are awake")
  func watcher() {
    var roster = PoolRoster(size: 2)
    for place in 0..<2 { _ = roster.call(forWork: place + 1, growing: true) }
    roster.look(0)
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: true, expired: false) == .watch)
    #expect(roster.call(forWork: 50, growing: true) == .nothing)
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: false, expired: false) == .park)
    #expect(roster.call(forWork: 1, growing: true) == .wake(1))
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: false, expired: false) == .park)
    #expect(roster.rest(0, mayLinger: false, flowing: true, expired: false) == .park)
  }
}
