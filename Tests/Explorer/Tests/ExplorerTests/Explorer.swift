import CHeadgate
import Dispatch
import HeadgateThreads
import Synchronization

/// Runs a script of a few threads again and again, each time in another interleaving, until all those with at most
/// `preemptions` preemptions were seen: depth first over the choices, each run from the beginning.
///
/// Only one of the script's threads runs at a time. Before each access to a lock, a parker or an atomic word it asks who
/// goes on. Going on oneself is free; taking the processor from a thread that could go on is a preemption.
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

  var preemptions = 2
  var mostRuns = 200_000

  /// Runs all interleavings. Returns how many there were.
  @discardableResult
  func explore(_ make: () -> Script) throws(Failure) -> Int {
    var choices = Choices(preemptions: preemptions)
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
  private var made: [Choice] = []
  private var position = 0
  private var used = 0

  init(preemptions: Int) { self.preemptions = preemptions }

  var taken: [Int] { made.map { $0.options[$0.index] } }

  /// Chooses among threads; `current` comes first if it can go on, and leaving it then costs a preemption.
  mutating func choose(_ enabled: [Int], current: Int?) -> Int {
    let canStay = current.map { enabled.contains($0) } ?? false
    if position < made.count {
      let choice = made[position]
      position += 1
      let thread = choice.options[choice.index]
      if canStay, thread != current { used += 1 }
      return thread
    }
    var options = enabled
    if canStay, let current {
      options = used < preemptions ? [current] + enabled.filter { $0 != current } : [current]
    }
    made.append(Choice(options: options, index: 0))
    position += 1
    return options[0]
  }

  /// Goes to the next run. False: all were seen.
  mutating func advance() -> Bool {
    position = 0
    used = 0
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
  private var states: [State]
  private(set) var choices: Choices
  private var time: UInt64 = 1_000_000
  private var steps = 0
  private var problem: String?
  private let done = DispatchSemaphore(value: 0)

  init(_ bodies: [@Sendable () -> Void], _ choices: Choices) {
    self.bodies = bodies
    self.choices = choices
    states = bodies.map { _ in State() }
  }

  /// Runs all threads to their end. Returns why that was not possible.
  func go() -> String? {
    if Explored.by == nil { Explored.by = Director.shared }
    for (number, body) in bodies.enumerated() {
      // A thread of its own for each run: what the library keeps of a thread must not outlive one.
      _ = try? WorkerThread(name: "explored") { [self] in
        let place = Place(self, number)
        Director.place.value = place
        states[number].turn.wait()
        body()
        withExtendedLifetime(place) { Director.place.value = nil }
        end(number)
      }
    }
    handOn()
    done.wait()
    return problem
  }

  // MARK: What the threads do

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
    if let next { states[next].turn.signal() } else { giveUp() }
    states[me].turn.wait()
  }

  private func handOn() {
    if let next = choose(from: nil) { states[next].turn.signal() } else { giveUp() }
  }

  private func choose(from current: Int?) -> Int? {
    steps += 1
    let enabled = states.indices.filter { number in
      let state = states[number]
      if state.isOver || state.hasYielded { return false }
      return state.isReady.map { $0() || state.deadline != .max } ?? true
    }
    guard !enabled.isEmpty, steps < Self.mostSteps else { return nil }
    let stays = current.flatMap { states[$0].isReady == nil ? $0 : nil }
    let next = choices.choose(enabled, current: stays)
    if let isReady = states[next].isReady {
      if !isReady() {
        states[next].timedOut = true
        time = max(time, states[next].deadline)
      }
      states[next].isReady = nil
    }
    return next
  }

  private func end(_ me: Int) {
    states[me].isOver = true
    for other in states.indices { states[other].hasYielded = false }
    if states.allSatisfy(\.isOver) { done.signal() } else { handOn() }
  }

  /// Nobody can go on: a wake-up was lost, or a lock is held for ever. The threads stay where they are.
  private func giveUp() {
    let asleep = states.indices.filter { !states[$0].isOver }
    problem =
      steps < Self.mostSteps
      ? "threads \(asleep) sleep and nobody will wake them" : "it does not end: more than \(steps) steps"
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
