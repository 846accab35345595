import HTTPTypes
import HeadgateThreads
import Logging

/// Dispatches any number of URL requests without exceeding the limits of each end-point.
///
/// Excess requests wait in the dispatcher's own queue, where `timeout` does not run. Long requests leave room for short
/// ones. Cancelling takes effect at once.
///
///     let response = try await URLDispatcher.shared.data(for: "https://example.com/")
///
/// There are two sets of methods, which do the same things. In a task, `data`, `stream`, `download` and `upload`
/// suspend until there is a result, and throw. `dispatch` needs no task: it returns at once and calls a completion.
/// `dispatchSynchronously` blocks a thread. The order of arguments is always the same: the request (or a URL as text),
/// `to:` for a file, `lane:`, `policy:` for a full long lane, `onProgress:`, and the completion. `dispatch(enqueuing:)`
/// needs no task for each request, but waits for a place in the queue, so that a list is read no faster than its
/// requests are processed. The classic forms, `dispatchShort` and `dispatchLong`, call a ``URLDispatchDelegate``.
///
/// Most programs need one dispatcher per process. Two dispatchers don't coordinate unless they share a gate: their
/// limits add up at the server. All methods are thread-safe.
public final class URLDispatcher: Sendable {
  /// The gate that every request passes. Use it for permits for other work too.
  public let gate: EndPointGate

  let core: DispatchCore

  private let ownsGate: Bool

  /// Creates a dispatcher with a gate of its own.
  ///
  /// - Parameters:
  ///   - transport: Carries the requests. The dispatcher owns it, and shuts it down when it ends itself.
  ///   - limits: The maximum number of running requests, for each end-point and in total, and of waiting requests.
  ///   - timers: The clock for time limits.
  ///   - logger: Receives the gate's warnings: leaked permits, and a second gate at the same end-point.
  ///   - observers: Receive the events of its requests; see ``DispatchObserver``.
  ///   - interceptors: Change its requests before they start, in this order; see ``RequestInterceptor``.
  ///   - coordinator: Grants permits that several programs share; see `GateCoordinator`. Nil: the limits apply to this
  ///     dispatcher alone.
  ///   - state: Keeps what servers have said for later processes; see `GateState`. Nil: it ends with the dispatcher.
  ///   - maxBodyMemory: The total size in bytes of the bodies collected in memory; see ``standardBodyMemory``.
  ///   - rateLimitFields: The header fields in which servers state waits and quotas.
  public init(
    transport: any Transport, limits: GateLimits = .standard, timers: any TimerService = TimerThread.requests,
    logger: Logger = Logger(label: "headgate.dispatcher"), observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], coordinator: (any GateCoordinator)? = nil,
    state: GateState? = nil, maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    rateLimitFields: RateLimitFields = .standard
  ) {
    let gate = EndPointGate(limits, timers, logger, coordinator: coordinator, memory: state)
    self.gate = gate
    core = DispatchCore(gate, transport, observers, interceptors, maxBodyMemory: maxBodyMemory, rateLimitFields)
    ownsGate = true
    let operations = core.operations
    transport.use(gate.sockets)
    gate.whenDrained { transport.shutDown { operations.transportEnded() } }
  }

  /// Creates a dispatcher that shares a gate with others. The limits apply to all of them together, and a coordinator of
  /// the gate's own dispatcher grants the permits of this one too.
  ///
  /// Its shutdown ends only its own requests, and does not affect the gate and the other dispatchers. When the
  /// dispatcher that created the gate closes it, this one accepts no requests either.
  ///
  /// - Parameters:
  ///   - transport: Carries the requests. The dispatcher owns it.
  ///   - gate: The gate of another dispatcher, or one of your own.
  ///   - observers: Receive the events of this dispatcher's requests; see ``DispatchObserver``.
  ///   - interceptors: Change this dispatcher's requests before they start; see ``RequestInterceptor``.
  ///   - maxBodyMemory: The total size in bytes of the bodies collected in memory; see ``standardBodyMemory``.
  ///   - rateLimitFields: The header fields in which servers state waits and quotas.
  public init(
    transport: any Transport, sharing gate: EndPointGate, observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    rateLimitFields: RateLimitFields = .standard
  ) {
    self.gate = gate
    core = DispatchCore(gate, transport, observers, interceptors, maxBodyMemory: maxBodyMemory, rateLimitFields)
    ownsGate = false
    let operations = core.operations
    transport.use(gate.sockets)
    operations.whenLast { transport.shutDown { operations.transportEnded() } }
  }

  /// A released dispatcher finishes the requests it has accepted, then closes its connections.
  deinit { beginShutDown(.drain) }

  /// The limits in force; see `EndPointGate.limits`. They apply to all dispatchers that share the gate.
  public var limits: GateLimits { gate.limits }

  /// Replaces all limits; see `EndPointGate.setLimits(_:)`.
  public func setLimits(_ limits: GateLimits) { gate.setLimits(limits) }

  /// Changes some of the limits atomically, so that concurrent changes are not lost; see
  /// `EndPointGate.updateLimits(_:)`.
  ///
  /// - Throws: The error that `change` throws. The limits are then unchanged.
  public func updateLimits<Failure: Error>(_ change: (inout GateLimits) throws(Failure) -> Void) throws(Failure) {
    try gate.updateLimits(change)
  }

  /// Sets a limit for one end-point; nil restores the common limit.
  public func setLimits(_ limits: EndPointLimits?, for endPoint: EndPoint) {
    gate.setLimits(limits, for: endPoint)
  }

  /// The state of the gate, end-point by end-point, for diagnostics; see `EndPointGate.snapshot()`. Dispatchers
  /// that share a gate return the same. ``operations(to:)`` has the requests themselves.
  public func snapshot() -> GateSnapshot { gate.snapshot() }

  /// The default bound for the memory of all bodies that a dispatcher collects: 256 MiB.
  ///
  /// Above the bound the transport reads only the oldest of them, which continues to its end (each body also has its
  /// own ``DispatchRequest/maxBodyBytes``). The others continue in order as memory becomes free; no request fails. The
  /// time that a request waits for memory does not count toward its `timeout`. With a bound of zero, bodies are read
  /// one after another.
  ///
  /// Responses that interceptors review count too (``RequestInterceptor/isInterested(in:_:)``), if their bodies are longer
  /// than 4 KB. Above the bound the transport reads only the oldest of those, and the next one when that one was reviewed.
  /// Meanwhile the others keep their permits, and their `timeout` runs on: a review may depend on a permit.
  ///
  /// Not counted: bodies up to 64 KB that are not reviewed, responses already passed to a caller, and streams, files and delegates, which
  /// have bounds of their own. If the transport can't pause a body (``TransportCapabilities/backPressure``; with
  /// libcurl, one of several transfers on an HTTP/2 connection), data it has already read is still collected, or
  /// waits in the transport's memory.
  public static let standardBodyMemory = 256 << 20

  /// Creates an operation that collects its response in memory.
  func makeGathering(
    _ request: DispatchRequest, _ lane: RequestLane, isEnqueued: Bool = false,
    _ completion: @escaping ResponseCompletion
  ) -> DispatchOperation {
    let sink = CollectingSink(cap: request.maxBodyBytes, completion)
    return DispatchOperation(request, lane, core, sink, isEnqueued: isEnqueued)
  }

  // MARK: The end

  /// Shuts the dispatcher down. Returns when no request runs or waits, every caller has its result and the connections
  /// are closed. Requests submitted after the call fail with `shutDown`. A second call may use a stricter mode.
  ///
  /// A dispatcher with its own gate also closes the gate, and waits for bare permits that the program holds
  /// (`gate.withPermit`), whatever the mode: only their holders can end them. A task must not hold one while it awaits
  /// this call. A dispatcher that shares a gate waits only for its own requests.
  public func shutDown(_ mode: ShutdownMode = .drain) async {
    beginShutDown(mode)
    await core.operations.ended.wait()
  }

  /// Shuts down at once and returns: waiting and running requests fail with `shutDown`.
  public func dispose() { beginShutDown(.now) }

  /// Begins a shutdown and returns at once. The mode takes effect before it returns.
  package func beginShutDown(_ mode: ShutdownMode) {
    core.beginShutdown(mode)
    guard !ownsGate else {
      gate.close(mode.closing)
      core.endOutsideGate(mode, ofAll: true)
      return
    }
    // Counts as an operation until all own requests were asked to end, because the last one to end closes the
    // transport.
    core.operations.add()
    core.operations.close()
    core.closingWaits.close()
    for operation in own() {
      if mode == .drain { operation.stopped() } else { operation.end(mode) }
    }
    core.endOutsideGate(mode)
    core.operations.remove()
  }

  // MARK: Cancelling

  /// Cancels all requests of this dispatcher with a tag, waiting or running. They end with the error `cancelled`. A
  /// request submitted during the call may or may not be included. O(n) in all requests that wait or run.
  ///
  /// - Returns: The number of requests that were cancelled.
  @discardableResult
  public func cancelAll(tag: String) -> Int { cancelAll { $0.request.tag == tag } }

  /// Cancels all requests of this dispatcher to an end-point, waiting or running, like `cancelAll(tag:)`. After a
  /// redirect a request counts at its new end-point. `EndPointGate.cancelAll(to:)` includes those of all
  /// dispatchers that share the gate.
  ///
  /// - Returns: The number of requests that were cancelled.
  @discardableResult
  public func cancelAll(to endPoint: EndPoint) -> Int { cancelAll(at: endPoint) { _ in true } }

  private func cancelAll(at endPoint: EndPoint? = nil, where isMeant: (DispatchOperation) -> Bool) -> Int {
    let meant = own(at: endPoint).filter(isMeant)
    for operation in meant { operation.cancel() }
    return meant.count
  }

  /// The requests of this dispatcher that have not ended: those that wait or run, those between two attempts, and those
  /// in interceptors, in no particular order. O(n) in all requests of the gate.
  ///
  ///     for request in dispatcher.operations() { print(request.url, request.state, request.waitReason?.description ?? "") }
  ///
  /// - Parameter endPoint: Only those to this end-point; nil for all.
  public func operations(to endPoint: EndPoint? = nil) -> [URLDispatchOperation] {
    own(at: endPoint).map { URLDispatchOperation(operation: $0) }
  }

  private func own(at endPoint: EndPoint? = nil) -> [DispatchOperation] {
    gate.allClients(at: endPoint).compactMap { $0 as? DispatchOperation }.filter { $0.core === core }
  }

  /// Runs `body` with a dispatcher that lasts as long as the call. If `body` returns, all accepted requests are
  /// finished first. If it throws, they fail with `shutDown`.
  public static func with<Value: Sendable>(
    transport: any Transport, limits: GateLimits = .standard, observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (URLDispatcher) async throws -> Value
  ) async throws -> Value {
    let dispatcher = URLDispatcher(
      transport: transport, limits: limits, observers: observers, interceptors: interceptors,
      maxBodyMemory: maxBodyMemory)
    do {
      let value = try await body(dispatcher)
      await dispatcher.shutDown(.drain)
      return value
    } catch {
      await dispatcher.shutDown(.now)
      throw error
    }
  }
}

/// How a dispatcher ends.
public struct ShutdownMode: Sendable, Hashable, CustomStringConvertible {
  let closing: Closing

  /// Its name, as in a program: `drain`.
  public let description: String

  /// Rejects new requests; finishes all that run, wait or are being processed by interceptors. No retries are made: a
  /// request that backs off between two attempts fails with `shutDown`, and one that fails after the call is not sent
  /// again.
  public static let drain = ShutdownMode(closing: .draining, description: "drain")
  /// Finishes running requests; waiting requests fail with `shutDown`.
  public static let graceful = ShutdownMode(closing: .ending, description: "graceful")
  /// Running and waiting requests fail with `shutDown`.
  public static let now = ShutdownMode(closing: .aborting, description: "now")
}
