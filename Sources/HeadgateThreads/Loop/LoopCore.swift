// One thread's inbox and the rule for waking it: producers append under a short lock, the thread takes everything at
// once, and only the first producer to arrive while it sleeps pays for a wake-up. This is the design of SwiftNIO's
// SelectableEventLoop and folly's EventBase, with a futex in place of an eventfd while the loop watches no descriptor.
//
// Rejected: a lock-free stack of nodes (an allocation for each item, and the order must be reversed); a separate lane
// for what the loop sends to itself (it could overtake items that another thread sent before); priority lanes (the
// runtime itself orders an actor's jobs).

import CHeadgate
import Synchronization

/// The state shared by a loop, its executors, sources and timers.
// Unchecked: `agenda` points to memory accessed only by the loop's thread or, after the stop, by the one thread that
// sets the phase to `finishing`. `record`, `serial` and `task` are written before any other thread can read them;
// `serial` and `task` are cleared by that one thread. The rest is constant, locked or atomic.
final class LoopCore: @unchecked Sendable {
  enum Phase: UInt8 {
    case open
    /// No further call starts. Pending work is notified once the current runs have ended.
    case stopping
    /// One thread has taken on the notification of pending work.
    case finishing
    case stopped
  }

  enum Sleep: UInt8 {
    case awake
    /// On the thread's parker.
    case parked
    /// On the poller.
    case polling
  }

  struct State: ~Copyable {
    var phase = Phase.open
    var sleep = Sleep.awake
    // The end of the current sleep.
    var sleepsUntil = Deadline.distantFuture
    var inbox: [LoopItem] = []
    var timers = TimerQueue()
    var sources: [ObjectIdentifier: LoopSource] = [:]
    var watches = LoopWatchTable()
    var poller: Poller?
    var wait: UInt64 = 0
    // The number of nested runs in progress.
    var depth = 0
    // The number of calls that the loop's thread makes directly, perhaps outside of a run.
    var directCalls = 0
    var isInUse: Bool { depth > 0 || directCalls > 0 }
    // Whether the innermost run is asked to end.
    var endsRun = false
    // Jobs that arrived after the inbox was closed, and whether a task runs them.
    var orphans: [LoopOrphan] = []
    var servesOrphans = false
    // Set when the last handle is released: no closure is accepted any more, but pending ones are still called.
    var drainsFirst = false

    /// Marks the loop as awake and returns how the caller must wake it.
    mutating func wake() -> Sleep {
      defer { sleep = .awake }
      return sleep
    }
  }

  let name: String
  let clock: @Sendable () -> Deadline
  /// Receives the errors of calls whose results are not waited for.
  let report: @Sendable (any Error) -> Void
  let timerCalls: TimerCalls
  /// Whether the loop has its own thread, which does nothing else.
  let ownsThread: Bool
  let state = Locked(State())
  /// Opens once everything pending in a stopped loop has been notified.
  let ended = Locked(Latch.State(count: 1))
  /// Whether the inbox may have something. Read by a loop that spins before it sleeps.
  let hasNews = AtomicCell<Bool>(false)
  /// Whether the phase is not `open` or a run is asked to end. Checked between any two items.
  let attention = AtomicCell<Bool>(false)
  /// The number of the thread that does the loop's work; 0 for none.
  let owner: AtomicCell<UInt>
  /// The thread that the loop belongs to; 0 before that thread has reached it and after it is finished.
  let thread = AtomicCell<ThreadRecord.ID>(0)
  let agenda: UnsafeMutablePointer<LoopAgenda>
  // The loop's thread. The loop sleeps on its parker, so that cancelling the thread ends the sleep.
  var record: ThreadRecord?
  // The executors, while the inbox may hold their jobs.
  var serial: LoopSerialExecutor?
  var task: LoopTaskExecutor?
  // Keeps a foreign thread's loop alive as long as the thread. Accessed only by the loop's thread.
  var keeper: ThreadLoop?
  // Unsafe: written once, before any other thread knows the loop. Concurrent reads of weak references are safe.
  nonisolated(unsafe) weak var facade: ThreadLoop?

  init(
    name: String, ownsThread: Bool, clock: @escaping @Sendable () -> Deadline,
    onError: (@Sendable (any Error) -> Void)?
  ) {
    self.name = name
    self.ownsThread = ownsThread
    self.clock = clock
    let report = onError ?? { HeadgateLog.warn(.thread, "loop \"\(name)\": a call failed: \($0)") }
    self.report = report
    timerCalls = TimerCalls(name: name, limit: nil) { error, _ in report(error) }
    owner = AtomicCell(0)
    agenda = .allocate(capacity: 1)
    agenda.initialize(to: LoopAgenda())
    // The executors and the core retain each other until the loop has stopped.
    serial = LoopSerialExecutor(self)
    task = LoopTaskExecutor(self)
  }

  deinit {
    agenda.deinitialize(count: 1)
    agenda.deallocate()
  }

  /// Whether the calling thread does the loop's work.
  var isCurrent: Bool { owner.load(ordering: .acquiring) == headgate_thread_number() }

  // MARK: The inbox

  /// Adds an item to the inbox. Returns false, without effect, if the loop no longer accepts anything.
  func accept(_ item: LoopItem) -> Bool {
    update { state in
      guard state.phase == .open, !state.drainsFirst else { return (false, .awake) }
      return (true, add(item, to: &state))
    }
  }

  /// Adds a notice that must be performed in any case: by the loop, or on the calling thread if the loop has stopped.
  func acceptNotice(_ notice: LoopNotice) {
    let isAccepted = update { state in
      state.phase == .stopped ? (false, .awake) : (true, add(.entry(notice), to: &state))
    }
    if !isAccepted { notice.drop() }
  }

  /// Appends an item under the lock. Returns the sleep from which the caller must wake the thread.
  func add(_ item: LoopItem, to state: inout State) -> Sleep {
    state.inbox.append(item)
    if state.inbox.count == 1 { hasNews.store(true, ordering: .relaxed) }
    return state.wake()
  }

  /// Changes the state under the lock, then wakes the thread from the sleep that `body` has returned with its answer.
  func update<Answer: Sendable>(_ body: (inout State) -> (answer: Answer, sleep: Sleep)) -> Answer {
    let (answer, sleep) = state.withLock { body(&$0) }
    wake(from: sleep)
    return answer
  }

  /// Wakes the thread from the sleep that `State.wake` returned. Called without a lock.
  func wake(from sleep: Sleep) {
    switch sleep {
    case .awake: break
    case .parked: record?.waitParker.unpark()
    case .polling: state.withLock { $0.poller }?.wake()
    }
  }

  /// Makes the loop check for work.
  func nudge() { wake(from: state.withLock { $0.wake() }) }

  /// Calls a closure of the program. Its error goes to the loop's handler, and the loop continues.
  func call(_ closure: Closure) {
    do { try closure() } catch { report(error) }
  }
}

// MARK: The graph of waits

// Joiners wait for the loop itself.
extension LoopCore: WaitTarget {
  var performer: ThreadRecord.ID? {
    let thread = thread.load(ordering: .acquiring)
    return thread == 0 ? nil : thread
  }

  var waitName: String { "the end of loop \"\(name)\"" }
}

// MARK: Timers

extension LoopCore: TimerService {
  var now: Deadline { clock() }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let key = update { state -> (TimerQueue.Key, Sleep) in
      // The loop has stopped. `timerCalls` notifies the timers that were set through it.
      guard state.phase == .open else { return (.none, .awake) }
      let key = state.timers.insert(at: deadline, action)
      // Only a timer that is due before the end of the loop's sleep wakes it.
      return (key, deadline < state.sleepsUntil ? state.wake() : .awake)
    }
    return ScheduledTimer(service: self, key: key)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool {
    // Removed under the lock, released after it.
    let action = state.withLock { $0.timers.remove(timer.key) }
    return action != nil
  }
}

extension LoopCore {
  /// The calling thread's loop, if it has one.
  static var ofThread: LoopCore? {
    // The thread holds one reference, from `settle` below until it is cleared or the thread exits.
    headgate_loop_get().map { Unmanaged<LoopCore>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Whether the calling thread is the loop's, even if the loop has stopped.
  var isAtHome: Bool { headgate_loop_get() == Unmanaged.passUnretained(self).toOpaque() }

  /// Makes this the loop of the calling thread, which must not have one.
  func settle() {
    let record = ThreadRecord.current
    self.record = record
    thread.store(record.id, ordering: .releasing)
    owner.store(headgate_thread_number(), ordering: .releasing)
    headgate_loop_set(Unmanaged.passRetained(self).toOpaque()) { pointer in
      guard let pointer else { return }
      // Balances `passRetained`: the thread exits.
      Unmanaged<LoopCore>.fromOpaque(pointer).takeRetainedValue().threadExits()
    }
    DumpRegistry.add(self)
  }

  /// The body of a loop's own thread.
  func live() {
    headgate_precise_timers()
    settle()
    _ = run(until: .distantFuture)
    finishIfDue()
    headgate_loop_clear()
    keeper = nil
    DumpRegistry.remove(self)
    // Balances `passRetained` in `settle`. The caller has its own reference.
    Unmanaged.passUnretained(self).release()
  }

  /// Called when a foreign thread exits, which ends its loop.
  private func threadExits() {
    // Jobs of tasks must not run on a thread that is being torn down.
    owner.store(0, ordering: .releasing)
    stop()
    keeper = nil
    DumpRegistry.remove(self)
  }
}
