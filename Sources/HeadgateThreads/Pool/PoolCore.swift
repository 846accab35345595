import Synchronization

/// The state that a pool's threads share. A `ThreadPool` only refers to it, so that releasing the `ThreadPool` ends the
/// threads.
@usableFromInline
final class PoolCore: Sendable {
  /// The parameters of a pool.
  struct Settings: Sendable {
    var name: String
    var size: Int
    var idleTime: Duration = .seconds(10)
    var bound: Int?
    var policy: FullQueuePolicy = .block
    var stackSize = 0
    /// Whether the last idle worker stays awake for a moment, because more tasks might follow at once.
    var lingers = true
    var threadStarted: (@Sendable () -> Void)?
    var threadEnded: (@Sendable () -> Void)?
    var taskFailed: (@Sendable (any Error) -> Void)?
    /// The clock for retrying a thread start that was refused.
    var timers: any TimerService = TimerThread.deadlines
    /// Starts a thread, given its name, stack size and body. Tests replace it with one that refuses.
    var spawn: @Sendable (String, Int, @escaping @Sendable () -> Void) throws -> Void = { name, stackSize, body in
      _ = try WorkerThread(name: name, stackSize: stackSize, body)
    }
    /// Called when a submitter has joined the line for room. For tests.
    var submitterWaits: (@Sendable () -> Void)?
  }

  let settings: Settings
  let state: Locked<PoolState>
  /// Opens once the pool has been disposed of and all of its tasks and threads have ended.
  let ended = Locked(Latch.State(count: 1))
  /// From here workers take their tasks without the lock of `state`.
  let outlet: PoolOutlet
  /// Whether workers must take the lock for each task nevertheless. True for a bounded pool, where each task taken
  /// makes room for a submitter, and while there are surplus threads.
  let mustAsk: AtomicCell<Bool>

  @usableFromInline var name: String { settings.name }

  /// The maximum number of threads.
  var size: Int { state.withLock { $0.roster.size } }

  /// - Parameter start: The initial value of the queue's counters, to test their wrap-around.
  init(_ settings: Settings, start: Int = 0) {
    self.settings = settings
    let state = PoolState(size: settings.size, bound: settings.bound, idleTime: settings.idleTime, start: start)
    outlet = state.queue.outlet
    mustAsk = AtomicCell(settings.bound != nil)
    self.state = Locked(state)
  }

  // MARK: Threads

  /// Wakes or starts the worker that was called, without a lock. Throws the system's error if no thread can be started.
  func follow(_ call: PoolRoster.Call) throws {
    switch call {
    case .nothing: return
    case .wake(let place): state.withLock { $0.workers[place]?.parker }?.unpark()
    case .start(let place): try start(place)
    }
  }

  private func start(_ place: Int) throws {
    let worker = PoolWorker(place: place)
    state.withLock { $0.add(worker) }
    do {
      try settings.spawn(name, settings.stackSize) { [self] in
        work(worker)
      }
    } catch {
      tell(
        isOver: state.withLock { state in
          state.startFailed(worker)
          updateMustAsk(state)
          // Others may have run the waiting tasks meanwhile, and a disposal may have waited only for this start.
          return state.isOver
        })
      HeadgateLog.note(.threadPool, "pool \"\(name)\" cannot start a thread: \(error)")
      throw error
    }
    HeadgateLog.note(.threadPool, "pool \"\(name)\" starts a thread")
  }

  /// Like `follow`, without a submitter to report a failure to: the tasks wait for the next attempt.
  func followLater(_ call: PoolRoster.Call) {
    do {
      try follow(call)
    } catch {
      retryStarting()
    }
  }

  /// Tries again later to start a thread, as long as tasks wait and no worker is searching. One pending retry is
  /// enough.
  func retryStarting() {
    let mustRetry = state.withLock { state in
      guard !state.isRetrying else { return false }
      state.isRetrying = state.queue.count > 0 && state.roster.mayCall(growing: false)
      return state.isRetrying
    }
    guard mustRetry else { return }
    _ = settings.timers.schedule(at: settings.timers.now + .milliseconds(10)) { [self] in
      let call = state.withLock { state in
        state.isRetrying = false
        return state.call(growing: false)
      }
      followLater(call)
    }
  }

  // MARK: Changing the number of threads

  /// Changes the number of threads. More start at once if tasks wait for them.
  func resize(to size: Int) { change { $0.roster.resize(to: size) } }

  /// Blocks the calling thread. If it is a worker waiting for a task that has not started, another thread replaces it
  /// meanwhile.
  func block(_ waiter: Waiter, until deadline: Deadline, needsStandIn: Bool) -> Waiter.Outcome {
    guard needsStandIn else { return waiter.wait(until: deadline) }
    change { state in
      state.roster.block()
      return []
    }
    defer { change { $0.roster.unblock() } }
    return waiter.wait(until: deadline)
  }

  // Called outside `look` too, because a surplus can end without it.
  func updateMustAsk(_ state: borrowing PoolState) {
    mustAsk.store(settings.bound != nil || state.roster.hasSurplus, ordering: .relaxed)
  }

  private func change(_ body: (inout PoolState) -> [Int]) {
    let (woken, calls, admission) = state.withLock { state in
      let woken = state.parkers(of: body(&state))
      updateMustAsk(state)
      var calls: [PoolRoster.Call] = []
      while true {
        let call = state.call(growing: true)
        guard call != .nothing else { break }
        calls.append(call)
      }
      return (woken, calls, state.admit())
    }
    follow(admission)
    for parker in woken { parker.unpark() }
    for call in calls { followLater(call) }
  }

  // MARK: Numbers

  /// The pool's numbers at one moment.
  var statistics: ThreadPool.Statistics {
    state.withLock { state in
      var completed = state.completed
      for case .some(let worker) in state.workers { completed += worker.completed.load(ordering: .relaxed) }
      return ThreadPool.Statistics(
        threads: state.roster.threads, idle: state.roster.idle, queued: state.queue.live,
        largest: state.roster.largest, completed: completed)
    }
  }
}

extension PoolCore {
  /// Disposes of the pool: at once (`now`), dropping the queued tasks, or after all of them have run.
  func dispose(now: Bool) {
    let (woken, dropped, submitters) = state.withLock { state in
      let isFirst = !state.isDisposed
      state.isDisposed = true
      let submitters = state.refuseAll()
      var dropped: [PoolEntry] = []
      while now, let entry = state.queue.take() { dropped.append(entry) }
      let woken = isFirst ? state.parkers(of: state.roster.drain()) : []
      state.disposers += 1
      return (woken, dropped, submitters)
    }
    discard(dropped, .disposed)
    for submitter in submitters { submitter.wake() }
    for parker in woken { parker.unpark() }
    tell(
      isOver: state.withLock { state in
        state.disposers -= 1
        return state.isOver
      })
  }

  /// If the pool has ended, releases the threads and tasks that wait for its end.
  func tell(isOver: Bool) {
    guard isOver else { return }
    for waiter in ended.withLock({ $0.countDown(1) }) { waiter.wake() }
  }

  /// The wait for the end, as errors name it.
  var waitForEnd: String { "wait for the end of the pool \"\(name)\"" }
}
