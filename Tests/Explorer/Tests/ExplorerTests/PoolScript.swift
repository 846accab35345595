import CExplorer
import Exploring
import Synchronization

@testable import HeadgateThreads

/// A script of operations on a pool whose workers are threads of the run: the pool's own code from the submission to
/// the thread's end, except that the start of a thread is replaced.
struct PoolScript: Sendable {
  indirect enum Step: Sendable {
    case execute(Int, [Step] = []), submit(Int, [Step] = [])
    /// Waits for the end of a submitted task; does nothing if the pool did not accept it.
    case wait(Int)
    /// Cancels a submitted task, if it was submitted by now.
    case cancel(Int)
    case dispose, disposeNow, waitForEnd
  }

  var name: String
  var size = 1
  var bound: Int?
  /// Forever, unless a script tests the idle time: then each worker's idle time may end at any moment.
  var idleTime = Duration.seconds(Int64.max)
  /// The number of threads that the system refuses first.
  var refusals = 0
  /// With more than one preemption, and with one: fewer where so many would take minutes.
  var detours = 5
  var usualDetours = 4
  var threads: [[Step]]

  /// Explores every interleaving up to the bound, with a few detours: none hangs, every task ends once, and nothing is
  /// left. Returns their number.
  func explore() throws(Explorer.Failure) -> Int {
    let preemptions = Explorer.usualBound
    return try Explorer(preemptions: preemptions, detours: preemptions > 1 ? detours : usualDetours).explore(name) {
      let ledger = Ledger()
      guard let pool = makePool() else { return Explorer.Script(threads: []) { "no pool" } }
      return Explorer.Script(
        threads: threads.map { steps in
          { @Sendable in for step in steps { Self.perform(step, in: pool, ledger) } }
        }
      ) {
        let reason = ledger.fault ?? Self.leftover(in: pool) ?? Self.miscount(of: pool, ledger)
        return reason.map { "\($0): \(ledger.entries)" }
      }
    }
  }

  private func makePool() -> ThreadPool? {
    var settings = PoolCore.Settings(name: "explored", size: size)
    settings.bound = bound
    settings.idleTime = idleTime
    settings.timers = RunTimers()
    let refusals = Refusals(refusals)
    settings.spawn = { _, _, body in
      try refusals.check()
      Run.current?.start(body)
    }
    return try? ThreadPool(settings)
  }

  private static func perform(_ step: Step, in pool: ThreadPool, _ ledger: Ledger) {
    switch step {
    case .execute(let number, let steps):
      let wasAccepted = (try? pool.execute(body(number, steps, pool, ledger))) != nil
      ledger.note(number) { $0.wasAccepted = wasAccepted }
    case .submit(let number, let steps):
      let task = try? pool.submit(body(number, steps, pool, ledger))
      ledger.note(number) { entry in
        entry.wasAccepted = task != nil
        entry.task = task
      }
    case .wait(let number):
      guard let task = ledger[number].task else { return }
      var wasRefused = false
      do { try task.wait() } catch { wasRefused = error.code == .wouldDeadlock }
      let hasEnded = task.hasEnded
      ledger.note(number) { $0.waitEndedEarly = !hasEnded && !wasRefused }
    case .cancel(let number):
      guard let task = ledger[number].task, task.cancel() else { return }
      ledger.note(number) { $0.wasCancelled = true }
    case .dispose: pool.dispose()
    case .disposeNow:
      ledger.noteDisposedNow()
      pool.dispose(.now)
    case .waitForEnd:
      guard (try? pool.waitUntilDisposed()) != nil else { return }
      ledger.noteEnd()
    }
  }

  private static func body(
    _ number: Int, _ steps: [Step], _ pool: ThreadPool, _ ledger: Ledger
  ) -> @Sendable () -> Void {
    let token = Token(number, ledger)
    return {
      token.run()
      for step in steps { perform(step, in: pool, ledger) }
    }
  }

  /// The state of the pool after a script.
  private static func leftover(in pool: ThreadPool) -> String? {
    let numbers = pool.statistics
    if numbers.threads != 0 { return "\(numbers.threads) threads are left" }
    if numbers.queued != 0 { return "\(numbers.queued) tasks are left" }
    if pool.isDisposed, pool.core.ended.withLock({ $0.count > 0 }) { return "the end was not noted" }
    return nil
  }

  /// A task that was cancelled does not count as completed, although it was in the queue.
  private static func miscount(of pool: ThreadPool, _ ledger: Ledger) -> String? {
    let runs = ledger.entries.values.reduce(0) { $0 + $1.runs }
    let completed = pool.statistics.completed
    return completed == runs ? nil : "\(completed) tasks were completed, and \(runs) ran"
  }
}

/// The outcome of each task of a script.
final class Ledger: Sendable {
  struct Entry: Sendable {
    var wasAccepted = false
    var task: PoolTask<Void, Never>?
    var runs = 0
    var wasLetGo = false
    var wasCancelled = false
    var waitEndedEarly = false
    var ranAfterEnd = false

    fileprivate func fault(_ wasDisposedNow: Bool) -> String? {
      let mayBeDropped = wasDisposedNow || wasCancelled
      if ranAfterEnd { return "ran after the end" }
      if waitEndedEarly { return "a wait for it ended before it did" }
      if !wasLetGo { return "what it captured is still there" }
      if wasAccepted ? runs > 1 || (runs == 0 && !mayBeDropped) || (runs == 1 && wasCancelled) : runs > 0 {
        return "ran \(runs) times"
      }
      guard let task else { return nil }
      return task.state == (runs == 1 ? .succeeded : .dropped) ? nil : "its handle says \(task.state)"
    }
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var wasDisposedNow = false
    var hasEnded = false
  }

  private let state = Mutex(State())

  var entries: [Int: Entry] { state.withLock { $0.entries } }

  /// The record of a task, which the calling thread may use: everything done before it was recorded is visible.
  subscript(number: Int) -> Entry {
    explorer_acquire(Self.word(number))
    return state.withLock { $0.entries[number] ?? Entry() }
  }

  /// The failures of a task, once the script is over.
  var fault: String? {
    let state = state.withLock { $0 }
    for (number, entry) in state.entries {
      if let fault = entry.fault(state.wasDisposedNow) { return "task \(number): \(fault)" }
    }
    return nil
  }

  func note(_ number: Int, _ change: (inout Entry) -> Void) {
    state.withLock { change(&$0.entries[number, default: Entry()]) }
    explorer_release(Self.word(number))
  }

  // The machine does not see the ledger's own lock. A unique address.
  private static func word(_ number: Int) -> UnsafeRawPointer? { UnsafeRawPointer(bitPattern: 8 * (number + 1)) }

  func noteDisposedNow() { state.withLock { $0.wasDisposedNow = true } }

  func noteEnd() { state.withLock { $0.hasEnded = true } }

  fileprivate func noteRun(_ number: Int) {
    state.withLock { state in
      state.entries[number, default: Entry()].runs += 1
      if state.hasEnded { state.entries[number]?.ranAfterEnd = true }
    }
  }
}

/// The captures of a task.
private final class Token: Sendable {
  private let number: Int
  private let ledger: Ledger

  init(_ number: Int, _ ledger: Ledger) {
    self.number = number
    self.ledger = ledger
  }

  deinit { ledger.note(number) { $0.wasLetGo = true } }

  func run() { ledger.noteRun(number) }
}

/// Refuses this many threads.
private final class Refusals: Sendable {
  struct NoThread: Error {}

  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  func check() throws {
    let refuses = left.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
    if refuses { throw NoThread() }
  }
}

/// Timers in the run's own time, each on a thread of the run.
private final class RunTimers: TimerService {
  var now: Deadline { .now }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    Run.current?.start {
      _ = Run.current?.sleep(Int(explorer_thread()), on: 0, until: deadline.nanoseconds)
      action()
    }
    return ScheduledTimer(service: self, key: .none)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool { false }
}
