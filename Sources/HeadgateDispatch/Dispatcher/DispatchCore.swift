import HeadgateThreads

/// What all operations of one dispatcher share: the gate, the transport, and the count of what is owed.
///
/// What every request asks of the gate and the clock goes through methods that are never inlined: an operation keeps the
/// core, and the core keeps those, so that no request counts references to objects which all threads share. Inlined, each
/// access would: the counts would travel from processor to processor. For the same reason a dispatcher has a few cores that
/// share all they have, each with a page of the ledger of its own, and a thread gives its operations one of them.
final class DispatchCore: Sendable {
  let gate: EndPointGate
  let transport: any Transport
  /// Who hears of its requests.
  let observers: [any DispatchObserver]
  /// Whether anybody does: a request of a dispatcher without observers asks no further.
  let hasObservers: Bool
  /// Who changes its requests before they start, and may have them sent again.
  let interceptors: [any RequestInterceptor]
  /// Whether anybody does.
  let isIntercepted: Bool
  /// What the transport can do, asked once.
  let capabilities: TransportCapabilities
  let ledger: Ledger
  let delegates: DelegatePool
  let bodies: BodyBudget
  /// The gate's identity, for delivery frames.
  let gateIdentity: ObjectIdentifier
  private let timers: any TimerService
  private let followsSystemClock: Bool
  private let page: Int
  // The count of references to the next core in memory, which other threads write, stands in no cache line of this one.
  private let padding = CacheLines()

  /// A core of its own, or another one of the same dispatcher, beside `first`.
  init(
    _ gate: EndPointGate, _ transport: any Transport, _ observers: [any DispatchObserver],
    _ interceptors: [any RequestInterceptor], maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    beside first: DispatchCore? = nil, page: Int = 0
  ) {
    self.gate = gate
    self.interceptors = interceptors
    isIntercepted = !interceptors.isEmpty
    self.transport = transport
    self.observers = observers
    hasObservers = !observers.isEmpty
    capabilities = first?.capabilities ?? transport.capabilities
    gateIdentity = ObjectIdentifier(gate)
    timers = gate.timers
    followsSystemClock = gate.timers is TimerThread
    ledger = first?.ledger ?? Ledger()
    delegates = first?.delegates ?? DelegatePool()
    bodies = first?.bodies ?? BodyBudget(limit: maxBodyMemory)
    resting = first?.resting ?? LockedBox(Resting())
    self.page = page
  }

  /// This core and those beside it, a power of two in all.
  func shared() -> [DispatchCore] {
    [self] + (1..<Ledger.pages).map { DispatchCore(gate, transport, observers, interceptors, beside: self, page: $0) }
  }

  /// Requests between two attempts or in the hands of their interceptors, which stand in no queue of the gate's.
  private struct Resting {
    var operations: [ObjectIdentifier: DispatchOperation] = [:]
    // A shutdown ends all of them, and those that come after it.
    var endsAll = false
  }

  private let resting: LockedBox<Resting>

  var now: Deadline { followsSystemClock ? .now : timersNow }

  @inline(never) private var timersNow: Deadline { timers.now }

  @inline(never)
  func submit(
    _ operation: DispatchOperation, _ request: DispatchRequest, _ lane: RequestLane, priority: RequestPriority,
    patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool, at moment: Deadline,
    as admission: Scheduler<any GateClient>.Admission
  ) -> Scheduler<any GateClient>.Submission {
    gate.submit(
      operation, to: request.endPoint, lane, priority: priority, patience: patience, mayBeHeld: mayBeHeld, at: moment,
      as: admission)
  }

  @inline(never)
  func finish(_ ticket: Ticket) { gate.finish(ticket) }

  @inline(never)
  func note(multiplexes does: Bool, at endPoint: EndPoint) { gate.note(multiplexes: does, at: endPoint) }

  /// One operation more whose caller has to be told of its end.
  @inline(never)
  func owe() { ledger.enter(page) }

  /// The caller of an operation was told.
  @inline(never)
  func settle() { ledger.leave(page) }

  /// Takes an operation's timers back.
  func cancel(_ operationTimers: OperationTimers) {
    if !operationTimers.isEmpty { operationTimers.cancel(on: timers) }
  }

  @inline(never)
  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> TimerQueue.Key {
    timers.schedule(at: deadline, action).key
  }

  @inline(never)
  func cancel(_ key: TimerQueue.Key) { ScheduledTimer(service: timers, key: key).cancel() }

  /// Notes one that rests. True if a shutdown ends it.
  func enterRest(_ operation: DispatchOperation) -> Bool {
    resting.withLock { resting in
      resting.operations[ObjectIdentifier(operation)] = operation
      return resting.endsAll
    }
  }

  func leaveRest(_ operation: DispatchOperation) {
    // The caller's own reference keeps it beyond the lock.
    _ = resting.withLock { $0.operations.removeValue(forKey: ObjectIdentifier(operation)) }
  }

  var atRest: [DispatchOperation] { resting.withLock { Array($0.operations.values) } }

  /// Those that a shutdown ends: all, or those only that rest between two attempts. One that an interceptor has just let go
  /// is neither at rest nor in its hands, and goes on.
  func endRests(all: Bool) -> [DispatchOperation] {
    let operations = resting.withLock { resting in
      if all { resting.endsAll = true }
      return Array(resting.operations.values)
    }
    return all ? operations : operations.filter { operation in operation.state.withLock { $0.isResting } }
  }

  /// Whether a shutdown ends what rests, whoever works on it.
  var endsAllRests: Bool { resting.withLock { $0.endsAll } }

  /// Whether the dispatcher takes nothing new, whatever its gate does: one that shares the gate ends by itself.
  var isClosed: Bool {
    @inline(never) get { ledger.isClosed }
  }
}
