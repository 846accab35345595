import HeadgateThreads

/// The state shared by all operations of one dispatcher: gate, transport, and the number of unfinished operations.
final class DispatchCore: Sendable {
  let gate: EndPointGate
  let transport: any Transport
  /// The observers of its requests.
  let observers: [any DispatchObserver]
  /// The interceptors of its requests, in order.
  let interceptors: [any RequestInterceptor]
  /// The transport's capabilities, read once.
  let capabilities: TransportCapabilities
  let operations = OperationCount()
  let delegates = DelegatePool()
  let bodies: BodyBudget
  /// The event streams that are waiting to reconnect.
  let closingWaits = ClosingWaits()
  private let outside = Locked(OutsideGate())

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

  /// Whether any observer is installed. Operations skip observation otherwise.
  var hasObservers: Bool { !observers.isEmpty }
  var isIntercepted: Bool { !interceptors.isEmpty }
  /// The gate's identity, for delivery frames.
  var gateIdentity: ObjectIdentifier { ObjectIdentifier(gate) }

  /// Requests between two attempts, or being processed by interceptors. The gate does not know them.
  private struct OutsideGate {
    var operations: [ObjectIdentifier: (operation: DispatchOperation, number: UInt64)] = [:]
    var lastNumber: UInt64 = 0
    // Set by a shutdown that is not a drain: all of these end, and so do later ones.
    var ending: ShutdownMode?
  }

  var now: Deadline { gate.timers.now }

  /// Cancels an operation's timers.
  func cancel(_ operationTimers: OperationTimers) {
    if !operationTimers.isEmpty { operationTimers.cancel(on: gate.timers) }
  }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> TimerQueue.Key {
    gate.timers.schedule(at: deadline, action).key
  }

  func cancel(_ key: TimerQueue.Key) { ScheduledTimer(service: gate.timers, key: key).cancel() }

  /// Registers an operation that has left the gate. Returns true if a shutdown ends it.
  func addOutsideGate(_ operation: DispatchOperation) -> Bool {
    outside.withLock { outside in
      outside.lastNumber += 1
      outside.operations[ObjectIdentifier(operation)] = (operation, outside.lastNumber)
      return outside.ending != nil
    }
  }

  /// Calls `body`, which brings an operation back to the gate. It is removed here afterwards, so that `cancelAll` finds
  /// it in one of the two places. By then it may have left the gate again; that registration is kept.
  func returningToGate(_ operation: DispatchOperation, _ body: () -> DispatchError?) -> DispatchError? {
    let id = ObjectIdentifier(operation)
    let number = outside.withLock { $0.operations[id]?.number }
    defer {
      outside.withLock { outside in
        if outside.operations[id]?.number == number { outside.operations[id] = nil }
      }
    }
    return body()
  }

  func removeOutsideGate(_ operation: DispatchOperation) {
    // The result is discarded under the lock, which is safe: the caller holds a reference, so no deinit runs here.
    _ = outside.withLock { $0.operations.removeValue(forKey: ObjectIdentifier(operation)) }
  }

  /// The registered operations, and the number of the last one that was added. Numbers only grow.
  var outsideGate: (operations: [DispatchOperation], number: UInt64) {
    outside.withLock { ($0.operations.values.map(\.operation), $0.lastNumber) }
  }

  /// A shutdown ends the operations that back off and, unless it is a drain, those in interceptors. An
  /// operation that an interceptor has just released to a draining dispatcher is in neither state, and continues.
  func endOutsideGate(_ mode: ShutdownMode) {
    let operations = outside.withLock { outside in
      if mode != .drain, outside.ending != .now { outside.ending = mode }
      return outside.operations.values.map(\.operation)
    }
    for operation in operations where mode != .drain || operation.state.withLock({ $0.isBackingOff }) {
      end(operation, mode)
    }
  }

  /// Ends an operation that is back at the gate, if a shutdown may have looked for it in between.
  func endIfMissed(_ operation: DispatchOperation) {
    if let mode = outside.withLock({ $0.ending }) { end(operation, mode) }
  }

  /// An operation is removed only after it was brought to the gate, so it may already run. Only `now` ends one
  /// that runs.
  private func end(_ operation: DispatchOperation, _ mode: ShutdownMode) {
    operation.fail(DispatchError(.shutDown), onlyIfWaiting: mode != .now)
  }

  /// Whether the dispatcher rejects new requests. Independent of the gate: a dispatcher that shares a gate shuts down
  /// on its own.
  var isClosed: Bool { operations.isClosed }
}
