import HTTPTypes
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
  /// Whether streams have sockets of their own where other requests share one.
  let streamsNeedSockets: Bool
  let operations = OperationCount()
  /// Where delegates are called: on up to eight threads, each of which starts only when all others are busy.
  // Never inline: name and size are valid constants.
  let delegates = (try? ThreadPool(name: "headgate-delegates", size: 8)).map { Delivery.pool($0) } ?? .inline
  let bodies: BodyBudget
  /// The fields in which servers state waits and quotas.
  let rateLimitFields: RateLimitFields
  /// Those that must be looked for in each head. Empty for the standard table.
  let unusualQuotaNames: [HTTPField.Name]
  /// The retries that are left at each end-point.
  let retries = Locked(RetryLedger())
  /// The permits that are kept while requests are prepared again.
  let held = Locked(HeldPermits<DispatchOperation>())
  /// The event streams that are waiting to reconnect.
  let closingWaits = ClosingWaits()
  private let endingMode = Locked<ShutdownMode?>(nil)

  init(
    _ gate: EndPointGate, _ transport: any Transport, _ observers: [any DispatchObserver],
    _ interceptors: [any RequestInterceptor], maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    _ rateLimitFields: RateLimitFields = .standard
  ) {
    self.gate = gate
    self.transport = transport
    self.observers = observers
    self.interceptors = interceptors
    capabilities = transport.capabilities
    streamsNeedSockets = capabilities.contains(.http2) && !capabilities.contains(.streamsOverHTTP2)
    bodies = BodyBudget(limit: maxBodyMemory)
    self.rateLimitFields = rateLimitFields
    unusualQuotaNames = rateLimitFields.unusualNames
  }

  /// The gate's identity, for delivery frames.
  var gateIdentity: ObjectIdentifier { ObjectIdentifier(gate) }

  var now: Deadline { gate.timers.now }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> TimerQueue.Key {
    gate.timers.schedule(at: deadline, action).key
  }

  func cancel(_ key: TimerQueue.Key) { ScheduledTimer(service: gate.timers, key: key).cancel() }

  /// The mode of a shutdown that is not a drain. Set before any request is ended.
  var ending: ShutdownMode? { endingMode.withLock { $0 } }

  /// A shutdown begins.
  func beginShutdown(_ mode: ShutdownMode) {
    guard mode != .drain else { return }
    endingMode.withLock { if $0 != .now { $0 = mode } }
  }

  /// A shutdown ends the requests that back off and, unless it is a drain, those that interceptors process. A request
  /// that an interceptor has just released to a draining dispatcher is in neither state, and continues.
  ///
  /// - Parameter ofAll: Whether the gate is closed, which ends the requests of all its dispatchers.
  func endOutsideGate(_ mode: ShutdownMode, ofAll: Bool = false) {
    for case let operation as DispatchOperation in gate.outside.all.clients where ofAll || operation.core === self {
      if mode != .drain || operation.state.withLock({ $0.isBackingOff }) { operation.end(mode) }
    }
  }

  /// Whether the dispatcher rejects new requests. Independent of the gate: a dispatcher that shares a gate shuts down
  /// on its own.
  var isClosed: Bool { operations.isClosed }
}
