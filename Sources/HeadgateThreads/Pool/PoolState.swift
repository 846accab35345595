import Synchronization

/// The state under a pool's lock, and every decision made under it: a value without threads or a clock.
///
/// Calls return the workers to wake or start. The caller does so after releasing the lock.
struct PoolState: ~Copyable {
  /// A worker's next step.
  enum Step {
    case run(PoolEntry)
    /// Stay awake for a moment.
    case linger
    case sleep(Deadline)
    case end
  }

  let bound: Int?
  let idleTime: Duration
  var queue: PoolQueue
  var roster: PoolRoster
  var workers: [PoolWorker?] = []
  var isDisposed = false
  // Whether a retry of a refused thread start is scheduled.
  var isRetrying = false
  // Submitters waiting for room, in FIFO order, and their entries.
  private var submitters = WaitList()
  private var offers: [ObjectIdentifier: (entry: PoolEntry, level: Int)] = [:]
  // Calls of `dispose` that are still notifying tasks.
  var disposers = 0
  // The number of tasks completed by workers that have ended.
  var completed = 0

  // How long a worker that was woken in vain sleeps before it checks again.
  private static let watchPeriod: Int64 = 200_000

  init(size: Int, bound: Int?, idleTime: Duration, start: Int = 0) {
    self.bound = bound
    self.idleTime = idleTime
    queue = PoolQueue(start: start)
    roster = PoolRoster(size: size)
  }

  // MARK: Arriving work

  /// Accepts a task. Returns the worker to call for it.
  mutating func accept(_ entry: PoolEntry, level: Int) -> PoolRoster.Call {
    queue.append(entry, level: level)
    return call(growing: true)
  }

  /// The worker to call for the queued tasks.
  mutating func call(growing: Bool) -> PoolRoster.Call {
    // The queue's length is read only if it matters, because it reads a word that workers change all the time.
    guard roster.mayCall(growing: growing) else { return .nothing }
    return roster.call(forWork: queue.count, growing: growing)
  }

  /// Records a worker that is about to be started.
  mutating func add(_ worker: PoolWorker) {
    while workers.count <= worker.place { workers.append(nil) }
    workers[worker.place] = worker
  }

  // MARK: Searching workers

  /// Decides a worker's next step, and which other worker to call.
  mutating func look(_ worker: PoolWorker, at now: Deadline, lingers: Bool) -> (Step, PoolRoster.Call) {
    let wasParked = roster.state(of: worker.place) == .parked
    // A wake-up token left over from an earlier sleep.
    if wasParked, now < worker.idleUntil, !isDisposed { return (.sleep(worker.idleUntil), .nothing) }
    roster.look(worker.place)
    if roster.retire(worker.place) { return (.end, call(growing: false)) }
    if let entry = queue.take() {
      worker.isWorking = true
      worker.taken += 1
      return (.run(entry), call(growing: false))
    }
    return (rest(worker, at: now, lingers: lingers, expired: wasParked), .nothing)
  }

  private mutating func rest(_ worker: PoolWorker, at now: Deadline, lingers: Bool, expired: Bool) -> Step {
    queue.rest()
    let hasWorked = worker.taken > 0
    // What it has run itself does not count: a worker beside a long task would otherwise watch after each task, and the
    // next one would wait for the end of that sleep.
    let flowing = queue.appended != worker.seen && !hasWorked
    worker.seen = queue.appended
    worker.streams = worker.taken > 2
    worker.taken = 0
    worker.isWorking = false
    switch roster.rest(worker.place, mayLinger: lingers && hasWorked, flowing: flowing, expired: expired) {
    case .linger: return .linger
    case .watch: return .sleep(now.advanced(byNanoseconds: Self.watchPeriod))
    case .park:
      queue.trim()
      worker.idleUntil = now + idleTime
      return .sleep(worker.idleUntil)
    case .end: return .end
    }
  }

  /// Removes a worker that has ended. Returns the worker to call in its place.
  mutating func leave(_ worker: PoolWorker) -> PoolRoster.Call {
    completed += worker.completed.load(ordering: .relaxed)
    workers[worker.place] = nil
    roster.leave(worker.place)
    return call(growing: false)
  }

  /// The system could not start a worker's thread.
  mutating func startFailed(_ worker: PoolWorker) {
    workers[worker.place] = nil
    roster.startFailed(worker.place)
  }

  // MARK: Room

  /// Submitters whose tasks were accepted, and the workers to call for these tasks.
  struct Admission {
    var waiters: [Waiter] = []
    var calls: [PoolRoster.Call] = []
  }

  /// Whether one more task is accepted: as many tasks may wait as the bound allows, beyond those for which a worker is
  /// available.
  var hasRoom: Bool { isBelowBound && submitters.isEmpty }

  /// Whether the line of submitters is empty and has left nothing behind.
  var isLineEmpty: Bool { submitters.isEmpty && offers.isEmpty }

  private var isBelowBound: Bool {
    guard let bound else { return true }
    return queue.live - roster.available < bound
  }

  /// Adds a submitter to the end of the line.
  mutating func lineUp(_ waiter: Waiter, with entry: PoolEntry, level: Int) {
    submitters.append(waiter)
    offers[ObjectIdentifier(waiter)] = (entry, level)
  }

  /// Removes a submitter whose wait has ended. Returns its entry, unless that was accepted.
  mutating func leaveLine(_ waiter: Waiter) -> PoolEntry? {
    submitters.remove(waiter)
    return offers.removeValue(forKey: ObjectIdentifier(waiter))?.entry
  }

  /// Accepts submitters' entries while there is room. Done by the thread that makes the room: if each submitter did it
  /// itself, the order would be that of their wake-ups.
  mutating func admit() -> Admission {
    var admission = Admission()
    while !submitters.isEmpty, isBelowBound, let waiter = submitters.claimFirst() {
      guard let offer = offers.removeValue(forKey: ObjectIdentifier(waiter)) else { continue }
      let call = accept(offer.entry, level: offer.level)
      admission.waiters.append(waiter)
      if call != .nothing { admission.calls.append(call) }
    }
    return admission
  }

  /// Ends the waits of all submitters without accepting their entries.
  mutating func refuseAll() -> [Waiter] { submitters.claimAll() }

  // MARK: The end

  /// Whether everything has ended for good.
  var isOver: Bool { isDisposed && disposers == 0 && roster.threads == 0 && queue.count == 0 }

  /// The parkers of the workers in these slots.
  func parkers(of places: [Int]) -> [Parker] { places.compactMap { workers[$0]?.parker } }
}
