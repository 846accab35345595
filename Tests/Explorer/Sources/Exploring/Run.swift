import CExplorer
import Dispatch
import HeadgateThreads

/// One run of a script.
// Unchecked: all mutable state is accessed only by the thread whose turn it is, and passed on by semaphores.
package final class Run: @unchecked Sendable {
  private struct State {
    enum Sleep {
      case awake
      /// Until a wake-up on the word, or the deadline.
      case asleep(word: UInt, since: Int, deadline: UInt64)
      case woken
    }

    var sleep = Sleep.awake
    var timedOut = false
    /// It polls for a change by another thread, and waits for the next step of one.
    var hasYielded = false
    /// It has polled without success, and nothing has changed since.
    var hasGivenUp = false
    var isOver = false
    let turn = DispatchSemaphore(value: 0)
  }

  // More than any script needs: a run beyond it never ends.
  private static let mostSteps = 20_000
  private let bodies: [@Sendable () -> Void]
  private var last: (@Sendable () -> Void)?
  private var states: [State] = []
  private(set) var choices: Choices
  private var steps = 0
  private var problem: String?
  var unfinishedTasks = 0
  /// A thread that continues as soon as it can: what it does is one step.
  private var urgent: Int?
  private let done = DispatchSemaphore(value: 0)
  private let over = DispatchSemaphore(value: 0)
  /// Time advances only when a sleep ends by its deadline, or a thread has polled without success.
  private(set) var time: UInt64 = 1_000_000

  init(_ bodies: [@Sendable () -> Void], last: (@Sendable () -> Void)? = nil, _ choices: Choices) {
    self.bodies = bodies
    self.last = last
    self.choices = choices
  }

  /// Runs all threads to their end. Returns why that was not possible.
  func go() -> String? {
    Machine.install()
    explorer_begin(1)
    for body in bodies { start(body) }
    if let first = choose(from: nil) { states[first].turn.signal() } else { giveUp() }
    // An explored thread that blocks elsewhere, or runs without a step, keeps the turn for ever.
    if done.wait(timeout: .now() + .seconds(30)) == .timedOut { return "a thread does not come back to the machine" }
    if let problem { return problem }
    if unfinishedTasks > 0 { return "\(unfinishedTasks) tasks sleep and nobody will wake them" }
    return explorer_race().map { String(cString: $0) }
  }

  /// The run that the calling thread belongs to.
  package static var current: Run? { explorer_run().map { Unmanaged<Run>.fromOpaque($0).takeUnretainedValue() } }

  // MARK: Operations of the threads

  /// Adds a thread, started by the thread whose turn it is: it runs when it is chosen.
  package func start(_ body: @escaping @Sendable () -> Void) {
    let number = states.count
    guard number < explorer_most_threads else {
      problem = "more threads than the machine has"
      return
    }
    let state = State()
    states.append(state)
    let turn = state.turn
    if explorer_run() != nil { explorer_order(explorer_thread(), Int32(number)) }
    // The caller is in no run meanwhile: a thread that is being created takes locks before it waits for its turn.
    let run = explorer_pause_run()
    defer { explorer_resume_run(run) }
    // A separate thread for each run: the library's data about a thread must not outlive a run.
    let worker = try? WorkerThread(name: "explored") { [self] in
      turn.wait()
      explorer_enter(Unmanaged.passUnretained(self).toOpaque(), Int32(number))
      body()
      explorer_leave()
      end(number)
      // The following ends the thread's record, under its lock: outside the machine, whose threads may want that lock.
      over.wait()
    }
    if worker == nil { states[number].isOver = true }
  }

  package func step(_ me: Int) {
    for other in states.indices where other != me { states[other].hasYielded = false }
    pass(me, canStay: true)
  }

  /// Continues after the next step of another thread.
  package func yield(_ me: Int) {
    states[me].hasYielded = true
    pass(me, canStay: true)
  }

  /// An unsuccessful poll: another thread continues and may cause the change, or the caller gives up. Its next polls
  /// are then unsuccessful too.
  func pause(_ me: Int) {
    let before = steps
    if !states[me].hasGivenUp { pass(me, canStay: false) }
    guard steps <= before + 1 else { return }
    states[me].hasGivenUp = true
    time += 1
  }

  package func sleep(_ me: Int, on word: UInt, until deadline: UInt64) -> Bool {
    // A deadline in centuries counts as never.
    let deadline = deadline > UInt64(Int64.max) ? .max : deadline
    states[me].sleep = .asleep(word: word, since: steps, deadline: deadline)
    states[me].timedOut = false
    pass(me, canStay: false)
    return !states[me].timedOut
  }

  /// Wakes the thread that has slept on the word for longest.
  func wake(_ me: Int, on word: UInt) -> Bool {
    var first: (number: Int, since: Int)?
    for number in states.indices {
      guard case .asleep(word, let since, _) = states[number].sleep, since < first?.since ?? .max else { continue }
      first = (number, since)
    }
    guard let first else { return false }
    states[first.number].sleep = .woken
    if first.number == urgent { pass(me, canStay: true) }
    return true
  }

  /// Performs all of `body` as one step, as far as no lock prevents it.
  package func atOnce(_ me: Int, _ body: () -> Void) {
    urgent = me
    explorer_quiet(1)
    body()
    explorer_quiet(-1)
    urgent = nil
  }

  // MARK: Turns

  private func pass(_ me: Int, canStay: Bool) {
    let next = choose(from: me, canStay: canStay)
    if next == me { return }
    for number in states.indices { states[number].hasGivenUp = false }
    // Looked up before the turn is passed on, since the table belongs to the turn.
    let turn = states[me].turn
    if let next { states[next].turn.signal() } else { giveUp() }
    turn.wait()
  }

  private func choose(from current: Int?, canStay: Bool = false) -> Int? {
    steps += 1
    guard steps < Self.mostSteps, problem == nil else { return nil }
    if let urgent, canGoOn(urgent, mayWake: false) {
      states[urgent].sleep = .awake
      return urgent
    }
    let canStay = canStay && current.map { !states[$0].hasYielded } ?? false
    let next = choices.choose(after: current, canStay: canStay, isAsleep: isAsleep, among: enabled)
    guard let next else { return nil }
    guard canGoOn(next, mayWake: true) else {
      problem = "the script took another way than it took before"
      return nil
    }
    if case .asleep(_, _, let deadline) = states[next].sleep, deadline != .max {
      states[next].timedOut = true
      time = max(time, deadline)
    }
    states[next].sleep = .awake
    return next
  }

  private func enabled(mayWake: Bool) -> [Int] {
    let able = states.indices.filter { canGoOn($0, mayWake: mayWake) }
    let eager = able.filter { !states[$0].hasYielded }
    // The change that a yielding thread waits for may have come between its poll and this.
    return eager.isEmpty ? able : eager
  }

  private func isAsleep(_ number: Int) -> Bool {
    if case .asleep(_, _, .max) = states[number].sleep { return true }
    return false
  }

  private func canGoOn(_ number: Int, mayWake: Bool) -> Bool {
    !states[number].isOver && (mayWake || !isAsleep(number))
  }

  private func end(_ me: Int) {
    states[me].isOver = true
    for other in states.indices { states[other].hasYielded = false }
    if states.allSatisfy(\.isOver) {
      guard let last = last.take() else {
        for _ in states { over.signal() }
        done.signal()
        return
      }
      for number in states.indices { explorer_order(Int32(number), Int32(states.count)) }
      start(last)
    }
    if let next = choose(from: me) { states[next].turn.signal() } else { giveUp() }
  }

  /// No thread can continue: a wake-up was lost, or a lock is held for ever. The threads stay where they are.
  private func giveUp() {
    let asleep = states.indices.filter { !states[$0].isOver }
    for state in states where state.isOver { over.signal() }
    problem =
      problem
      ?? (steps < Self.mostSteps
        ? "threads \(asleep) sleep and nobody will wake them" : "it does not end: more than \(steps) steps")
    done.signal()
  }
}
