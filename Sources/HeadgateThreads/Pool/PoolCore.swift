import Synchronization

/// What a pool's threads share. The pool itself only holds it, so that dropping the pool ends them.
@usableFromInline
final class PoolCore: Sendable {
  /// What a pool is told when it is made.
  struct Settings: Sendable {
    var name: String
    var size: Int
    var idleTime: Duration = .seconds(10)
    var bound: Int?
    var policy: FullQueuePolicy = .block
    var stackSize = 0
    var threadStarted: (@Sendable () -> Void)?
    var threadEnded: (@Sendable () -> Void)?
    var taskFailed: (@Sendable (any Error) -> Void)?
    /// Where a start that was refused is tried again from.
    var timers: any TimerService = TimerThread.shared
    /// Starts a thread: the name, the stack's size, the body. A test puts one here that refuses.
    var spawn: @Sendable (String, Int, @escaping @Sendable () -> Void) throws -> Void = { name, stackSize, body in
      _ = try WorkerThread(name: name, stackSize: stackSize, body)
    }
  }

  struct State: ~Copyable {
    var queue: PoolQueue
    var roster: PoolRoster
    var workers: [PoolWorker?] = []
    // How many workers took more than one task and have not looked again since.
    var batches = 0
    var nextRecall = Deadline.distantPast
    // No batch is of a lower level.
    var lowestBatch = Int.max
    var lingererKnows = false
    // How many tasks were accepted, to see whether they flow.
    var accepted = 0
    var isDisposed = false
    // Submitters who wait for room, and those of them who were told to come in.
    var submitters = WaitList()
    var invited = 0
    // How many calls of `dispose` still tell tasks of their end, and who waits for the pool's.
    var disposers = 0
    var mourners = WaitList()
    var hasEnded = false
    // Tasks that workers had completed who are gone.
    var completed = 0

    /// How many tasks wait that nobody will pass by.
    var waiting: Int {
      // Whoever cancels counts the dead one a moment later than it dies, and it may have been passed by before: an empty
      // queue must not look as if somebody were needed for it.
      var sum = queue.count - max(0, queue.dead)
      for case .some(let worker) in workers where batches > 0 { sum += worker.unclaimed }
      return max(0, sum)
    }
  }

  let settings: Settings
  let state: Locked<State>
  /// How many workers have a job behind them whose end they have not told yet: they look for more before they run more.
  let finishing = AtomicCell<Int>(0)
  /// Set by who brings work while a worker lingers.
  let signal = AtomicCell<Bool>(false)

  var name: String { settings.name }

  /// - Parameter start: Where the queue's counters start, for a test of their wrapping.
  init(_ settings: Settings, start: Int = 0) {
    self.settings = settings
    state = Locked(State(queue: PoolQueue(start: start), roster: PoolRoster(size: settings.size)))
  }

  // MARK: Calling workers

  /// Whom to call for what waits in the queue, under the lock.
  func call(_ state: inout State, work: Int, growing: Bool) -> PoolRoster.Call {
    if work > 0, state.roster.isLingering, !state.lingererKnows {
      state.lingererKnows = true
      signal.store(true, ordering: .releasing)
    }
    return state.roster.call(forWork: work, finishing: finishing.load(ordering: .acquiring), growing: growing)
  }

  /// Wakes or starts who was called, with no lock held. Throws what the system said if it has no thread.
  func follow(_ call: PoolRoster.Call) throws {
    switch call {
    case .nobody: return
    case .wake(let place): state.withLock { $0.workers[place]?.parker }?.unpark()
    case .start(let place): try start(place)
    }
  }

  private func start(_ place: Int) throws {
    let worker = PoolWorker(place: place)
    state.withLock { state in
      while state.workers.count <= place { state.workers.append(nil) }
      state.workers[place] = worker
    }
    do {
      try settings.spawn(name, settings.stackSize) { [self] in
        work(worker)
      }
    } catch {
      let mourners = state.withLock { state in
        state.workers[place] = nil
        state.roster.startFailed(place)
        // Others may have run what it was to come for, and a disposal waited for it alone.
        return endIfOver(&state)
      }
      for mourner in mourners { mourner.wake() }
      HeadgateLog.note(.threadPool, "pool \"\(name)\" gets no thread: \(error)")
      throw error
    }
    HeadgateLog.note(.threadPool, "pool \"\(name)\" starts a thread")
  }

  /// Follows a call that nobody has asked for: without a thread, the tasks wait for the next try.
  func followLater(_ call: PoolRoster.Call) {
    do {
      try follow(call)
    } catch {
      retryStarting()
    }
  }

  /// Tries again to get a thread, a little later, if there is work and none at all to run it.
  func retryStarting() {
    let isStranded = state.withLock { $0.roster.threads == 0 && $0.queue.count > 0 }
    guard isStranded else { return }
    _ = settings.timers.schedule(at: settings.timers.now + .milliseconds(10)) { [self] in
      followLater(state.withLock { call(&$0, work: $0.queue.count, growing: false) })
    }
  }

  // MARK: Numbers

  /// The pool's numbers at one moment.
  var statistics: ThreadPool.Statistics {
    state.withLock { state in
      var completed = state.completed
      for case .some(let worker) in state.workers { completed += worker.completed.load(ordering: .relaxed) }
      return ThreadPool.Statistics(
        threads: state.roster.threads, idle: state.roster.idle, queued: state.waiting,
        largest: state.roster.largest, completed: completed)
    }
  }
}
