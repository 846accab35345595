import HeadgateThreads

/// What all operations of one dispatcher share: the gate, the transport, and the count of those under way.
final class DispatchCore: Sendable {
  let gate: EndPointGate
  let transport: any Transport
  /// Who hears of its requests.
  let observers: [any DispatchObserver]
  /// Who changes its requests before they start, and may have them sent again.
  let interceptors: [any RequestInterceptor]
  /// What the transport can do, asked once.
  let capabilities: TransportCapabilities
  let operations = OperationCount()
  let delegates = DelegatePool()
  let bodies: BodyBudget
  private let resting = Locked(Resting())

  init(
    _ gate: EndPointGate, _ transport: any Transport, _ observers: [any DispatchObserver],
    _ interceptors: [any RequestInterceptor], maxBodyMemory: Int = URLDispatcher.standardBodyMemory
  ) {
    self.gate = gate
    self.transport = transport
    self.observers = observers
    self.interceptors = interceptors
    capabilities = transport.capabilities
    bodies = BodyBudget(limit: maxBodyMemory)
  }

  /// Whether anybody hears of its requests: without observers an operation asks no further.
  var hasObservers: Bool { !observers.isEmpty }
  var isIntercepted: Bool { !interceptors.isEmpty }
  /// The gate's identity, for delivery frames.
  var gateIdentity: ObjectIdentifier { ObjectIdentifier(gate) }

  /// Requests between two attempts or in the hands of their interceptors, which stand in no queue of the gate's.
  private struct Resting {
    var operations: [ObjectIdentifier: DispatchOperation] = [:]
    // A shutdown ends all of them, and those that come after it.
    var endsAll = false
  }

  var now: Deadline { gate.timers.now }

  func submit(
    _ operation: DispatchOperation, _ request: DispatchRequest, _ lane: RequestLane, priority: RequestPriority,
    patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool, at moment: Deadline,
    as admission: Scheduler<any GateClient>.Admission
  ) -> Scheduler<any GateClient>.Submission {
    gate.submit(
      operation, to: request.endPoint, lane, priority: priority, patience: patience, mayBeHeld: mayBeHeld, at: moment,
      as: admission)
  }

  func finish(_ ticket: Ticket) { gate.finish(ticket) }

  func note(multiplexes does: Bool, at endPoint: EndPoint) { gate.note(multiplexes: does, at: endPoint) }

  /// Takes an operation's timers back.
  func cancel(_ operationTimers: OperationTimers) {
    if !operationTimers.isEmpty { operationTimers.cancel(on: gate.timers) }
  }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> TimerQueue.Key {
    gate.timers.schedule(at: deadline, action).key
  }

  func cancel(_ key: TimerQueue.Key) { ScheduledTimer(service: gate.timers, key: key).cancel() }

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
  var isClosed: Bool { operations.isClosed }
}
