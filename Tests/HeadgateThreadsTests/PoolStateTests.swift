import Synchronization
import Testing

@testable import HeadgateThreads

/// The decisions under a pool's lock, including the queue and real jobs, checked against their single rule. Workers are
/// only numbers, and a seed determines the order of events.
@Suite struct PoolStateTests {
  private final class Model {
    let core: PoolCore
    var state: PoolState
    var random: SeededRandom
    var now = Deadline(nanoseconds: 1_000_000)
    // Whether the system sometimes refuses threads.
    let refuses: Bool
    var workers: [Int: PoolWorker] = [:]
    // The state of workers, by index: the tasks that they hold, or that they are coming.
    var hands: [Int: PoolEntry] = [:]
    var coming: Set<Int> = []
    var resting: Set<Int> = []
    var ending: Set<Int> = []
    var waiting: [PoolJob] = []
    var submitted = 0
    var cancelled = 0
    var ran = 0

    init(size: Int, seed: UInt64, refuses: Bool) {
      core = PoolCore(.init(name: "model", size: size))
      state = PoolState(size: size, bound: nil, idleTime: .milliseconds(1))
      random = SeededRandom(seed: seed)
      self.refuses = refuses
    }

    /// The number of tasks that wait for a worker, by a full count.
    var live: Int {
      waiting.removeAll { !$0.isQueued }
      let held = hands.values.count { if case .job(let job) = $0 { job.isQueued } else { false } }
      return waiting.count - held
    }

    func follow(_ call: PoolRoster.Call) {
      switch call {
      case .nothing: return
      case .wake(let place):
        #expect(resting.contains(place))
      case .start(let place):
        let worker = PoolWorker(place: place)
        state.add(worker)
        if refuses, Int.random(in: 0..<4, using: &random) == 0 {
          state.startFailed(worker)
        } else {
          workers[place] = worker
          coming.insert(place)
        }
      }
    }

    func submit() {
      guard !state.roster.isDraining else { return }
      let job = PoolJob(core) { _ in false }
      waiting.append(job)
      submitted += 1
      follow(state.accept(.job(job), level: Int.random(in: 0..<PoolPriority.levels, using: &random)))
    }

    func cancel() {
      guard let job = waiting.randomElement(using: &random), job.drop(.cancelled) else { return }
      state.queue.outlet.stale.add(1, ordering: .relaxed)
      _ = state.queue.sweep()
      cancelled += 1
    }

    func look(_ place: Int) {
      guard let worker = workers[place] else { return }
      let (step, call) = state.look(worker, at: now, lingers: Bool.random(using: &random))
      note(step, place)
      follow(call)
    }

    /// As a busy worker takes its next task: without the lock, and so without a decision.
    func takeOn(_ place: Int) {
      guard let entry = state.queue.outlet.take() else { return look(place) }
      workers[place]?.taken += 1
      hands[place] = entry
    }

    private func note(_ step: PoolState.Step, _ place: Int) {
      coming.remove(place)
      resting.remove(place)
      switch step {
      case .run(let entry): hands[place] = entry
      case .linger, .sleep: resting.insert(place)
      case .end: ending.insert(place)
      }
    }

    /// A worker has run or skipped its tasks.
    func runOn(_ place: Int) {
      guard case .job(let job) = hands.removeValue(forKey: place) else { return }
      if job.claim(for: ThreadRecord.current) {
        _ = job.perform()
        job.finish(failed: false, on: ThreadRecord.current)
        ran += 1
      } else {
        state.queue.outlet.stale.subtract(1, ordering: .relaxed)
      }
      takeOn(place)
    }

    func step() {
      now = now.advanced(byNanoseconds: Int64.random(in: 0..<200_000, using: &random))
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1: submit()
      case 2: cancel()
      case 3: if let place = pick(coming) { look(place) }
      case 4: if let place = pick(resting) { look(place) }
      case 5, 6: if let place = pick(Set(hands.keys)) { runOn(place) }
      default:
        if Int.random(in: 0..<10, using: &random) == 0 { resize() }
        guard let place = pick(ending), let worker = workers.removeValue(forKey: place) else { return }
        ending.remove(place)
        follow(state.leave(worker))
      }
    }

    private func resize() {
      for place in state.roster.resize(to: Int.random(in: 1...4, using: &random)) { #expect(resting.contains(place)) }
      while case let call = state.call(growing: true), call != .nothing { follow(call) }
    }

    func pick(_ places: Set<Int>) -> Int? { places.sorted().randomElement(using: &random) }

    /// The pool's action shortly after a refusal.
    func retry() { follow(state.call(growing: false)) }

    func check() throws {
      let roster = state.roster
      let states = (0..<16).map { roster.state(of: $0) }
      try #require(roster.threads == states.count { $0 != .absent })
      try #require(states.count { $0 == .lingering } <= 1)
      try #require(states.count { $0 == .watching } <= 1)
      try #require(roster.searching == states.count { [.starting, .called, .lingering, .watching].contains($0) })
      try #require(state.queue.count >= live)
      // The rule: a worker comes for each waiting task, unless no worker is available.
      let couldBeHad = roster.threads < roster.size || states.contains(.parked)
      if live > 0, couldBeHad, !refuses { try #require(roster.searching > 0) }
    }
  }

  @Test(
    "A worker that has run its own task beside a busy one stays awake, or parks until it is woken",
    arguments: [true, false])
  func besideABusyWorker(lingers: Bool) {
    let core = PoolCore(.init(name: "model", size: 2))
    var state = PoolState(size: 2, bound: nil, idleTime: .seconds(1))
    let now = Deadline(nanoseconds: 1_000_000)
    let workers = [PoolWorker(place: 0), PoolWorker(place: 1)]
    func submit() -> PoolRoster.Call { state.accept(.job(PoolJob(core) { _ in false }), level: 2) }
    for place in 0..<2 {
      #expect(submit() == .start(place))
      state.add(workers[place])
      guard case (.run, _) = state.look(workers[place], at: now, lingers: lingers) else { return #expect(Bool(false)) }
    }
    for _ in 0..<3 {
      // The first one is still busy.
      switch state.look(workers[1], at: now, lingers: lingers).0 {
      case .linger: #expect(lingers && submit() == .nothing)
      case .sleep(let end): #expect(!lingers && end == now + .seconds(1) && submit() == .wake(1))
      default: Issue.record("it found a task, or ended")
      }
      guard case (.run, _) = state.look(workers[1], at: now + .seconds(1), lingers: lingers) else {
        return #expect(Bool(false))
      }
    }
  }

  @Test(
    "P50 P60 waiting tasks always have a worker coming, with cancellations and resizes in any order",
    arguments: 1...40)
  func rule(seed: Int) throws {
    let model = Model(size: seed % 4 + 1, seed: UInt64(seed), refuses: seed % 3 == 0)
    for _ in 0..<4000 {
      model.step()
      if model.refuses { model.retry() }
      try model.check()
    }
    _ = model.state.roster.drain()
    model.state.isDisposed = true
    for _ in 0..<100_000 where model.state.roster.threads > 0 || model.state.queue.count > 0 {
      model.step()
      if model.refuses { model.retry() }
    }
    #expect(model.state.roster.threads == 0 && model.state.queue.count == 0)
    #expect(model.ran + model.cancelled == model.submitted)
    #expect(model.cancelled > 50 && model.ran > 100)
    #expect(model.state.queue.outlet.stale.load(ordering: .relaxed) == 0)
  }
}
