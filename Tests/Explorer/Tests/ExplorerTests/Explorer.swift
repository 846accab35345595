import CHeadgate
import Dispatch
import Foundation
import HeadgateThreads
import Synchronization

/// Runs a script of a few threads again and again, each time in another interleaving, until all those with at most
/// `preemptions` preemptions were seen: depth first over the choices, each run from the beginning.
///
/// Only one of the script's threads runs at a time. Before each access to a lock, a parker or an atomic word it asks who
/// goes on. Going on oneself is free; taking the processor from a thread that could go on is a preemption. A script must
/// do the same whenever it is led the same way: no addresses, hashes or clocks of its own.
struct Explorer {
  /// What went wrong in one interleaving.
  struct Failure: Error, CustomStringConvertible {
    let reason: String
    let schedule: [Int]
    let runs: Int
    var description: String { "\(reason), in run \(runs), by the schedule \(schedule.prefix(200))" }
  }

  /// A script: its threads, and a look at what came out once all have ended. A reason is a failure.
  struct Script {
    var threads: [@Sendable () -> Void]
    var verdict: () -> String?
  }

  /// Two find more: HEADGATE_PREEMPTIONS=2. That takes some eight minutes on one processor, with the scripts that would
  /// take more bound in their detours; three end for none but the smallest before `mostRuns`.
  static let usualBound = wantedBound ?? 1
  private static let wantedBound = ProcessInfo.processInfo.environment["HEADGATE_PREEMPTIONS"].flatMap { Int($0) }

  var preemptions = 2
  /// How often another thread than the next in turn goes on after one that can't: no bound, but where a script has so many
  /// threads that it would take hours. M. Emmi, S. Qadeer, Z. Rakamaric, "Delay-bounded scheduling" (2011).
  var detours = Int.max
  var mostRuns = 200_000

  /// Runs all interleavings of a script, and tells their number where somebody asked for so many.
  func explore(_ name: String, _ make: () -> Script) throws(Failure) -> Int {
    let began = ContinuousClock.now
    let runs = try explore(make)
    if Self.wantedBound != nil {
      print("\(name): \(runs) interleavings\(runs < mostRuns ? "" : ", and more"), \(ContinuousClock.now - began)")
    }
    return runs
  }

  /// Runs all interleavings. Returns how many there were; `mostRuns` if there are more.
  @discardableResult
  func explore(_ make: () -> Script) throws(Failure) -> Int {
    var choices = Choices(preemptions: preemptions, detours: detours)
    var runs = 0
    repeat {
      runs += 1
      let script = make()
      let run = Run(script.threads, choices)
      let stuck = run.go()
      choices = run.choices
      if let reason = stuck ?? script.verdict() {
        throw Failure(reason: reason, schedule: choices.taken, runs: runs)
      }
    } while choices.advance() && runs < mostRuns
    return runs
  }
}

/// The choices of one run, in order; the next run differs in the last one that had another way left.
struct Choices {
  private struct Choice {
    var options: [Int]
    var index: Int
  }

  let preemptions: Int
  let detours: Int
  private var made: [Choice] = []
  private var position = 0
  private var used = (preemptions: 0, detours: 0)

  init(preemptions: Int, detours: Int) {
    self.preemptions = preemptions
    self.detours = detours
  }

  var taken: [Int] { made.map { $0.options[$0.index] } }

  /// Chooses among threads. If `current` can go on, leaving it costs a preemption; if not, it is the next one's turn, and
  /// choosing another costs a detour.
  mutating func choose(_ enabled: [Int], after current: Int?, canStay: Bool) -> Int {
    if position == made.count { made.append(Choice(options: options(enabled, current, canStay), index: 0)) }
    let choice = made[position]
    position += 1
    if choice.index > 0 {
      if canStay { used.preemptions += 1 } else { used.detours += 1 }
    }
    return choice.options[choice.index]
  }

  private func options(_ enabled: [Int], _ current: Int?, _ canStay: Bool) -> [Int] {
    let current = current ?? -1
    let others = enabled.filter { $0 > current } + enabled.filter { $0 < current }
    if canStay { return used.preemptions < preemptions ? [current] + others : [current] }
    // It may go on all the same, by its deadline; as the last in turn.
    let inTurn = others + enabled.filter { $0 == current }
    return used.detours < detours ? inTurn : [inTurn[0]]
  }

  /// Goes to the next run. False: all were seen.
  mutating func advance() -> Bool {
    position = 0
    used = (0, 0)
    while let last = made.last {
      if last.index + 1 < last.options.count {
        made[made.count - 1].index += 1
        return true
      }
      made.removeLast()
    }
    return false
  }
}

/// One run of a script.
// Unchecked: `states` and `choices` are touched by the thread that has the turn only, and handed on by semaphores.
final class Run: @unchecked Sendable {
  private struct State {
    var isOver = false
    // What it sleeps for; nil: it can go on.
    var isReady: (() -> Bool)?
    var deadline = UInt64.max
    var timedOut = false
    // It waits for another thread's step.
    var hasYielded = false
    let turn = DispatchSemaphore(value: 0)
  }

  // More than any script needs: a run that goes on beyond it never ends.
  private static let mostSteps = 20_000
  private let bodies: [@Sendable () -> Void]
  private var states: [State] = []
  private(set) var choices: Choices
  private var time: UInt64 = 1_000_000
  private var steps = 0
  private var problem: String?
  private let done = DispatchSemaphore(value: 0)

  init(_ bodies: [@Sendable () -> Void], _ choices: Choices) {
    self.bodies = bodies
    self.choices = choices
  }

  /// Runs all threads to their end. Returns why that was not possible.
  func go() -> String? {
    if Explored.by == nil { Explored.by = Director.shared }
    for body in bodies { start(body) }
    handOn(from: nil)
    done.wait()
    return problem
  }

  // MARK: What the threads do

  /// One thread more, by one that has the turn: it goes on when it is chosen.
  func start(_ body: @escaping @Sendable () -> Void) {
    let (number, state) = (states.count, State())
    states.append(state)
    let turn = state.turn
    // The caller is in no run meanwhile: a thread that is being made takes locks before it waits for its turn.
    let place = Director.place.value
    Director.place.value = nil
    defer { Director.place.value = place }
    // A thread of its own for each run: what the library keeps of a thread must not outlive one.
    let thread = try? WorkerThread(name: "explored") { [self] in
      let place = Place(self, number)
      Director.place.value = place
      turn.wait()
      body()
      withExtendedLifetime(place) { Director.place.value = nil }
      end(number)
    }
    if thread == nil { states[number].isOver = true }
  }

  var now: UInt64 { time }

  func step(_ me: Int) {
    for other in states.indices where other != me { states[other].hasYielded = false }
    pass(me)
  }

  func yield(_ me: Int) {
    states[me].hasYielded = true
    pass(me)
  }

  func sleep(_ me: Int, until deadline: UInt64, _ isReady: @escaping () -> Bool) -> Bool {
    states[me].isReady = isReady
    states[me].deadline = deadline
    states[me].timedOut = false
    pass(me)
    return !states[me].timedOut
  }

  // MARK: Turns

  private func pass(_ me: Int) {
    let next = choose(from: me)
    if next == me { return }
    // Looked up before the turn is given away, with which the table is.
    let turn = states[me].turn
    if let next { states[next].turn.signal() } else { giveUp() }
    turn.wait()
  }

  private func handOn(from last: Int?) {
    if let next = choose(from: last) { states[next].turn.signal() } else { giveUp() }
  }

  private func choose(from current: Int?) -> Int? {
    steps += 1
    var enabled = states.indices.filter { !states[$0].hasYielded && canGoOn($0) }
    if enabled.isEmpty {
      // What it waits for may have come between its look and this.
      enabled = states.indices.filter(canGoOn)
    }
    guard !enabled.isEmpty, steps < Self.mostSteps else { return nil }
    let canStay = current.map { states[$0].isReady == nil && enabled.contains($0) } ?? false
    let next = choices.choose(enabled, after: current, canStay: canStay)
    guard enabled.contains(next) else {
      problem = "the script took another way than it took before"
      return nil
    }
    if let isReady = states[next].isReady {
      if !isReady() {
        states[next].timedOut = true
        time = max(time, states[next].deadline)
      }
      states[next].isReady = nil
    }
    return next
  }

  private func canGoOn(_ number: Int) -> Bool {
    let state = states[number]
    return !state.isOver && (state.isReady.map { $0() || state.deadline != .max } ?? true)
  }

  private func end(_ me: Int) {
    states[me].isOver = true
    for other in states.indices { states[other].hasYielded = false }
    if states.allSatisfy(\.isOver) { done.signal() } else { handOn(from: me) }
  }

  /// Nobody can go on: a wake-up was lost, or a lock is held for ever. The threads stay where they are.
  private func giveUp() {
    let asleep = states.indices.filter { !states[$0].isOver }
    problem =
      problem
      ?? (steps < Self.mostSteps
        ? "threads \(asleep) sleep and nobody will wake them" : "it does not end: more than \(steps) steps")
    done.signal()
  }
}

/// The run that a thread belongs to, and its number there.
final class Place: Sendable {
  let run: Run
  let number: Int

  init(_ run: Run, _ number: Int) {
    self.run = run
    self.number = number
  }
}

/// Brings what the library's words and locks say to the run of the thread that says it. One for all runs: threads of an
/// earlier run may still be on their way out.
final class Director: Exploration {
  static let shared = Director()
  static let place = Key()

  var now: UInt64? { Self.place.value.map { $0.run.now } }

  func step() {
    if let place = Self.place.value { place.run.step(place.number) }
  }

  func yield() {
    if let place = Self.place.value { place.run.yield(place.number) }
  }

  func sleep(until deadline: UInt64, _ isReady: @escaping () -> Bool) -> Bool? {
    Self.place.value.map { $0.run.sleep($0.number, until: deadline, isReady) }
  }
}
