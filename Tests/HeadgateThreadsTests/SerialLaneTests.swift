import HeadgateThreads
import Synchronization
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct SerialLaneTests {
  private final class Calls: Sendable {
    let count = Atomic(0)
  }

  // Plain memory: only the lane excludes concurrent jobs.
  private final class Room: @unchecked Sendable {
    var inside = 0
    var overlaps = 0
    var visits: [(thread: Int, number: Int)] = []
  }

  @Test("Jobs of a lane run one at a time, each thread's in its order")
  func order() throws {
    let lane = SerialLane(on: LaneCrew(name: "test-lane", size: 4))
    let room = Room()
    let done = Latch(8 * 2000)
    try onThreads(8) { thread in
      for number in 0..<2000 {
        lane.run {
          room.inside += 1
          if room.inside > 1 { room.overlaps += 1 }
          room.visits.append((thread, number))
          room.inside -= 1
          done.countDown()
        }
      }
    }
    try #require(done.wait())
    #expect(room.overlaps == 0)
    for thread in 0..<8 {
      #expect(room.visits.filter { $0.thread == thread }.map(\.number) == Array(0..<2000))
    }
  }

  @Test("A blocked lane does not block another")
  func twoLanes() {
    let crew = LaneCrew(name: "test-lane", size: 2)
    let (slow, quick) = (SerialLane(on: crew), SerialLane(on: crew))
    let inside = Latch()
    let release = Latch()
    let slowDone = Latch()
    slow.run {
      inside.countDown()
      _ = release.wait()
    }
    slow.run { slowDone.countDown() }
    #expect(inside.wait())
    for _ in 0..<100 {
      let quickDone = Latch()
      quick.run { quickDone.countDown() }
      #expect(quickDone.wait())
    }
    release.countDown()
    #expect(slowDone.wait())
  }

  @Test("Jobs added by a job run after those already there")
  func fromInside() {
    let lane = SerialLane(on: LaneCrew(name: "test-lane", size: 1))
    let calls = Record<String>()
    let added = Latch()
    let done = Latch(2)
    lane.run {
      _ = added.wait()
      calls.add("first")
      lane.run {
        calls.add("added")
        lane.run { done.countDown() }
        done.countDown()
      }
    }
    lane.run { calls.add("second") }
    added.countDown()
    #expect(done.wait())
    #expect(calls.events == ["first", "second", "added"])
  }

  @Test("A chain of jobs that each add the next ends")
  func chain() {
    let lane = SerialLane(on: LaneCrew(name: "test-lane", size: 2))
    let done = Latch()
    @Sendable func step(_ left: Int) {
      if left == 0 { return done.countDown() }
      lane.run { step(left - 1) }
    }
    step(10_000)
    #expect(done.wait())
  }

  @Test("A lane that never becomes empty lets the others of a single thread have their turn")
  func fairness() {
    let crew = LaneCrew(name: "test-lane", size: 1)
    let (busy, other) = (SerialLane(on: crew), SerialLane(on: crew))
    let isDone = Locked(false)
    let ended = Latch(2)
    @Sendable func step() {
      if isDone.withLock({ $0 }) { return ended.countDown() }
      busy.run { step() }
    }
    step()
    other.run {
      isDone.withLock { $0 = true }
      ended.countDown()
    }
    #expect(ended.wait())
  }

  @Test("A crew has no more threads than its size", arguments: [1, 3])
  func size(size: Int) {
    let crew = LaneCrew(name: "test-lane", size: size)
    let lanes = (0..<50).map { _ in SerialLane(on: crew) }
    let threads = Locked<Set<UInt>>([])
    let done = Latch(50 * 20)
    for _ in 0..<20 {
      for lane in lanes {
        lane.run {
          let thread = threadNumber()
          threads.withLock { _ = $0.insert(thread) }
          done.countDown()
        }
      }
    }
    #expect(done.wait())
    #expect((1...size).contains(threads.withLock { $0.count }))
  }

  @Test("P50 a job that arrives just as its crew goes to sleep runs", arguments: [1, 2])
  func sleepyCrew(size: Int) throws {
    let crew = LaneCrew(name: "test-lane", size: size)
    let lanes = [SerialLane(on: crew), SerialLane(on: crew)]
    let calls = Calls()
    var random = SeededRandom(seed: 50)
    for round in 1...20_000 {
      // For this round: on a busy machine, each yield may last some milliseconds.
      let limit = Deadline.after(generous)
      let spins = Int.random(in: 0..<60, using: &random)
      lanes[round % 2].run {
        calls.count.add(1, ordering: .relaxed)
        for _ in 0..<spins { _ = Deadline.now }
      }
      // Awake, so that the next job arrives within the microsecond in which the thread goes to sleep.
      while calls.count.load(ordering: .relaxed) < round {
        try #require(.now < limit, "the job of round \(round) was lost")
        sched_yield()
      }
    }
  }

  @Test("A job and its captures are released once it has run")
  func captures() {
    let lane = SerialLane(on: LaneCrew(name: "test-lane", size: 1))
    let census = Census()
    func add() {
      let token = census.token()
      lane.run { token.hold() }
    }
    add()
    let first = Latch()
    lane.run { first.countDown() }
    #expect(first.wait())
    // By now the lane may still hold its first batch. A job in a later one finds it gone.
    let alive = Record<Int>()
    let second = Latch()
    lane.run {
      lane.run {
        alive.add(census.alive)
        second.countDown()
      }
    }
    #expect(second.wait())
    #expect(alive.events == [0])
  }
}
