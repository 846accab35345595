import Testing

@testable import HeadgateThreads

/// The wake policy against its rules, with workers that are only numbers and an order of events that a seed chooses.
@Suite struct PoolRosterTests {
  /// A pool without threads: a queue that is a count, workers that do what the roster says when the test says so.
  private struct Model {
    var roster: PoolRoster
    var random: SeededRandom
    var queued = 0
    var submitted = 0
    var done = 0
    var finishing = 0
    // Whether the system refuses threads now and then.
    let refuses: Bool
    // What workers have in their hands, by place; those in `isLast` have a job behind them and look next.
    var hands: [Int: Int] = [:]
    var isLast: Set<Int> = []
    var starting: Set<Int> = []
    var resting: Set<Int> = []
    var ending: Set<Int> = []
    var accepted = 0
    var seen: [Int: Int] = [:]

    init(size: Int, seed: UInt64, refuses: Bool) {
      self.refuses = refuses
      roster = PoolRoster(size: size)
      random = SeededRandom(seed: seed)
    }

    var unclaimed: Int { queued + hands.values.reduce(0) { $0 + max(0, $1 - 1) } }

    mutating func follow(_ call: PoolRoster.Call) {
      switch call {
      case .nobody: return
      case .wake(let place):
        #expect(resting.contains(place))
      case .start(let place):
        if refuses, Int.random(in: 0..<4, using: &random) == 0 {
          roster.startFailed(place)
        } else {
          starting.insert(place)
        }
      }
    }

    mutating func submit() {
      guard !roster.isDraining else { return }
      queued += 1
      submitted += 1
      accepted += 1
      follow(roster.call(forWork: queued, finishing: finishing, growing: true))
    }

    mutating func look(_ place: Int, expired: Bool) {
      let wasParked = roster.state(of: place) == .parked
      if wasParked, !expired { return }
      roster.look(place)
      starting.remove(place)
      resting.remove(place)
      if isLast.remove(place) != nil { finishing -= 1 }
      if queued == 0 {
        // Takes half of what somebody else holds.
        if let victim = hands.keys.sorted().first(where: { (hands[$0] ?? 0) > 1 }), let held = hands[victim] {
          queued = held / 2
          hands[victim] = held - queued
        }
      }
      if queued > 0 {
        let taken = min(queued, Int.random(in: 1...4, using: &random))
        queued -= taken
        hands[place] = taken
        seen[place] = accepted
        follow(roster.call(forWork: unclaimed, finishing: finishing, growing: false))
        return
      }
      let flowing = seen[place] != accepted
      seen[place] = accepted
      switch roster.rest(place, mayLinger: Bool.random(using: &random), flowing: flowing, expired: wasParked) {
      case .end: ending.insert(place)
      case .linger, .watch, .park: resting.insert(place)
      }
    }

    mutating func step() {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: submit()
      case 1: if let place = pick(starting) { look(place, expired: false) }
      case 2: if let place = pick(resting) { look(place, expired: Bool.random(using: &random)) }
      case 3, 4:
        if let place = pick(Set(hands.keys)), let held = hands[place] {
          done += 1
          if held == 1 {
            hands[place] = nil
            finishing += 1
            isLast.insert(place)
          } else {
            hands[place] = held - 1
          }
        }
      default:
        if let place = pick(isLast) {
          look(place, expired: false)
        } else if let place = pick(ending) {
          ending.remove(place)
          roster.leave(place)
          follow(roster.call(forWork: unclaimed, finishing: finishing, growing: false))
        }
      }
    }

    mutating func pick(_ places: Set<Int>) -> Int? { places.sorted().randomElement(using: &random) }

    func check() throws {
      let states = (0..<roster.size).map { roster.state(of: $0) }
      try #require(roster.threads <= roster.size)
      try #require(roster.threads == states.count { $0 != .absent })
      try #require(states.count { $0 == .lingering } <= 1)
      try #require(states.count { $0 == .watching } <= 1)
      try #require(
        roster.searching == states.count { [.called, .lingering, .watching].contains($0) })
      // The rule: work that nobody runs has somebody who comes for it, unless there is nobody to be had. (Where a thread
      // was refused, those who work come by when they have done.)
      let couldBeHad = roster.threads < roster.size || states.contains(.parked)
      if unclaimed > 0, couldBeHad, !refuses { try #require(roster.searching + finishing > 0) }
    }

    /// What the pool does a moment after a refusal.
    mutating func retry() {
      if roster.threads == 0, queued > 0 { follow(roster.call(forWork: queued, finishing: finishing, growing: false)) }
    }
  }

  @Test("P50 P60 work that nobody runs always has a worker on its way, whatever the order of events", arguments: 1...40)
  func rule(seed: Int) throws {
    var model = Model(size: seed % 4 + 1, seed: UInt64(seed), refuses: seed % 3 == 0)
    for _ in 0..<4000 {
      model.step()
      model.retry()
      try model.check()
    }
    _ = model.roster.drain()
    for _ in 0..<100_000 where model.roster.threads > 0 || model.queued > 0 {
      model.step()
      model.retry()
    }
    #expect(model.roster.threads == 0 && model.queued == 0)
    #expect(model.done == model.submitted)
    #expect(model.submitted > 100)
  }

  @Test("P50 with threads that always start, every task of every order is run")
  func allRun() throws {
    for seed in 1...200 {
      var roster = PoolRoster(size: seed % 3 + 1)
      var random = SeededRandom(seed: UInt64(seed))
      var queued = 0
      var awake: Set<Int> = []
      for _ in 0..<500 {
        if Bool.random(using: &random) {
          queued += 1
          switch roster.call(forWork: queued, finishing: 0, growing: true) {
          case .nobody: break
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

  @Test("The last to park is the first to be woken")
  func lastFirst() {
    var roster = PoolRoster(size: 3)
    for place in 0..<3 {
      #expect(roster.call(forWork: place + 1, finishing: 0, growing: true) == .start(place))
    }
    for place in [1, 0, 2] {
      roster.look(place)
      #expect(roster.rest(place, mayLinger: false, flowing: false, expired: false) == .park)
    }
    for place in [2, 0, 1] {
      #expect(roster.call(forWork: 1, finishing: 0, growing: true) == .wake(place))
      #expect(roster.call(forWork: 5, finishing: 0, growing: true) == .nobody)
      roster.look(place)
    }
  }

  @Test("P51 a burst wakes one, who wakes the next only if it leaves work behind")
  func burst() {
    var roster = PoolRoster(size: 8)
    for place in 0..<8 { _ = roster.call(forWork: place + 1, finishing: 0, growing: true) }
    for place in 0..<8 {
      roster.look(place)
      _ = roster.rest(place, mayLinger: false, flowing: false, expired: false)
    }
    var woken = 0
    for burst in 1...100 where roster.call(forWork: burst, finishing: 0, growing: true) != .nobody { woken += 1 }
    #expect(woken == 1)
    roster.look(7)
    #expect(roster.call(forWork: 0, finishing: 0, growing: false) == .nobody)
    #expect(roster.call(forWork: 99, finishing: 0, growing: false) == .wake(6))
  }

  @Test("P61 a worker that is about to look counts as coming")
  func finishing() {
    var roster = PoolRoster(size: 2)
    #expect(roster.call(forWork: 1, finishing: 0, growing: true) == .start(0))
    roster.look(0)
    #expect(roster.call(forWork: 1, finishing: 1, growing: true) == .nobody)
    #expect(roster.call(forWork: 1, finishing: 0, growing: true) == .start(1))
  }

  @Test("A watcher stands in for wake-ups only while tasks flow and others are awake")
  func watcher() {
    var roster = PoolRoster(size: 2)
    for place in 0..<2 { _ = roster.call(forWork: place + 1, finishing: 0, growing: true) }
    roster.look(0)
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: true, expired: false) == .watch)
    #expect(roster.call(forWork: 50, finishing: 0, growing: true) == .nobody)
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: false, expired: false) == .park)
    #expect(roster.call(forWork: 1, finishing: 0, growing: true) == .wake(1))
    roster.look(1)
    #expect(roster.rest(1, mayLinger: false, flowing: false, expired: false) == .park)
    #expect(roster.rest(0, mayLinger: false, flowing: true, expired: false) == .park)
  }
}
