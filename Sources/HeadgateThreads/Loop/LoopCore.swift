// One thread's inbox and the rule for waking it: producers append under a short lock, the thread takes all of it at
// once, and only the first to come while it sleeps pays for a wake-up.
// What SwiftNIO's SelectableEventLoop and folly's EventBase do, with a futex in place of an eventfd while the loop
// watches no descriptor.
//
// Rejected: a stack of nodes without a lock (an allocation for each item, and the order has to be turned round); a lane
// of its own for what the loop sends itself (what another thread sent before, and told the loop of, would come later);
// lanes for priorities (the runtime orders the jobs of an actor itself).

import CHeadgate
import Synchronization

/// What a loop, its executors, sources and timers share.
// Unchecked: `agenda` points to memory that only the loop's thread touches, or, when the loop has stopped, the one
// thread that sets the phase to `finishing`; `record`, `serial` and `task` are written before any other thread can ask
// for them, and `serial` and `task` emptied by that one thread; the rest is constant, locked or atomic.
final class LoopCore: @unchecked Sendable {
  enum Phase: UInt8 {
    case open
    /// Nothing new starts. What is left is told so as soon as the present runs have ended.
    case stopping
    /// One thread has taken on to tell what is left.
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
    // While it sleeps: until when.
    var sleepsUntil = Deadline.distantFuture
    var inbox: [LoopItem] = []
    var signalled: [LoopSource?] = []
    var timers = TimerQueue()
    var sources: [ObjectIdentifier: LoopSource] = [:]
    var watches = LoopWatchTable()
    var poller: Poller?
    var wait: UInt64 = 0
    // Runs in progress, one inside another.
    var depth = 0
    // The innermost run is asked to end.
    var endsRun = false
    // What came for the executors when nobody served the inbox any more, and whether somebody is at it.
    var orphans: [LoopOrphan] = []
    var servesOrphans = false
    var joiners = WaitList()
    // All that was left has been told.
    var isFinished = false
    // The last handle is gone: no closure is taken any more, but those that are there are still called.
    var drainsFirst = false

    /// The loop counts as awake from here on; says how it has to be woken.
    mutating func wake() -> Sleep {
      defer { sleep = .awake }
      return sleep
    }
  }

  let name: String
  let clock: @Sendable () -> Deadline
  let errors: LoopErrors
  let timerCalls: TimerCalls
  /// Whether the loop has a thread of its own, which does nothing else.
  let ownsThread: Bool
  let state = Locked(State())
  /// Something is in the inbox: what a loop looks at that lingers a moment before it sleeps.
  let hasNews = AtomicCell<Bool>(false)
  /// The phase is not `open`, or a run is asked to end: looked at between any two items.
  let attention = AtomicCell<Bool>(false)
  /// The number of the thread that does the loop's work: 0 for none.
  let owner: AtomicCell<UInt>
  let agenda: UnsafeMutablePointer<LoopAgenda>
  // The loop's thread, whose parker it sleeps on, so that cancelling the thread ends the sleep.
  var record: ThreadRecord?
  // The executors, as long as the inbox may hold their jobs.
  private(set) var serial: LoopSerialExecutor?
  private(set) var task: LoopTaskExecutor?
  // A loop on somebody else's thread lives as long as that.
  var keeper: ThreadLoop?
  // Unsafe: written once, before any other thread knows of the loop; weak references are read by many at once.
  nonisolated(unsafe) weak var facade: ThreadLoop?

  init(name: String, ownsThread: Bool, clock: @escaping @Sendable () -> Deadline, errors: LoopErrors) {
    self.name = name
    self.ownsThread = ownsThread
    self.clock = clock
    self.errors = errors
    timerCalls = TimerCalls(name: name, limit: nil) { error, _ in errors.report(error) }
    owner = AtomicCell(0)
    agenda = .allocate(capacity: 1)
    agenda.initialize(to: LoopAgenda())
  }

  deinit {
    agenda.deinitialize(count: 1)
    agenda.deallocate()
  }

  /// Whether the calling thread is the one that does the loop's work.
  var isCurrent: Bool { owner.load(ordering: .acquiring) == headgate_thread_number() }

  /// The executors keep the core and the core keeps them, until the loop has stopped.
  func keepExecutors(_ serial: LoopSerialExecutor, _ task: LoopTaskExecutor) {
    (self.serial, self.task) = (serial, task)
  }
  func releaseExecutors() { (serial, task) = (nil, nil) }

  // MARK: The inbox

  /// Puts something into the inbox. False, and nothing done: the loop takes nothing any more.
  func accept(_ item: LoopItem) -> Bool {
    let (isAccepted, sleep) = state.withLock { state -> (Bool, Sleep) in
      guard state.phase == .open, !state.drainsFirst else { return (false, .awake) }
      state.inbox.append(item)
      if state.inbox.count == 1 { hasNews.store(true, ordering: .relaxed) }
      return (true, state.wake())
    }
    wake(from: sleep)
    return isAccepted
  }

  /// Puts something into the inbox that is done at any price: by the loop, or here when that has stopped.
  func acceptNotice(_ notice: LoopNotice) {
    let (isAccepted, sleep) = state.withLock { state -> (Bool, Sleep) in
      guard state.phase != .stopped else { return (false, .awake) }
      state.inbox.append(.entry(notice))
      hasNews.store(true, ordering: .relaxed)
      return (true, state.wake())
    }
    wake(from: sleep)
    if !isAccepted { notice.leaveUndone() }
  }

  /// Wakes the thread from what the lock said it sleeps on. With no lock held.
  func wake(from sleep: Sleep) {
    switch sleep {
    case .awake: break
    case .parked: record?.waitParker.unpark()
    case .polling: state.withLock { $0.poller }?.wake()
    }
  }

  /// Makes the loop look round.
  func nudge() { wake(from: state.withLock { $0.wake() }) }

  /// Calls a closure of the program; its error goes to the loop's handler, and the loop goes on.
  func call(_ closure: LoopClosure) {
    do { try closure.body() } catch { errors.report(error) }
  }
}

/// Where errors go that nobody waits for.
struct LoopErrors: Sendable {
  let name: String
  let handler: (@Sendable (any Error) -> Void)?

  func report(_ error: any Error) {
    if let handler { return handler(error) }
    HeadgateLog.warn(.thread, "loop \"\(name)\": a call failed: \(error)")
  }
}

// MARK: Timers

extension LoopCore: TimerService {
  var now: Deadline { clock() }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, sleep) = state.withLock { state -> (TimerQueue.Key, Sleep) in
      // Whoever sets timers through `timerCalls` is told by those.
      guard state.phase == .open else { return (.none, .awake) }
      let key = state.timers.insert(at: deadline, action)
      // Only the first to come before the loop's own deadline wakes it.
      return (key, deadline < state.sleepsUntil ? state.wake() : .awake)
    }
    wake(from: sleep)
    return ScheduledTimer(service: self, key: key)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool {
    // The action leaves the lock before it is let go.
    let action = state.withLock { $0.timers.remove(timer.key) }
    return action != nil
  }
}
