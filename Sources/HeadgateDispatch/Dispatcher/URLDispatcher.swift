import HTTPTypes
import HeadgateThreads
import Logging

/// Dispatches any number of URL requests and never has more under way than an end-point tolerates.
///
/// The excess waits in the dispatcher's own queue, where nothing times out; short requests find a permit beside long
/// ones; a cancel takes effect at once.
///
///     let response = try await URLDispatcher.shared.data(for: "https://example.com/")
///
/// It has two faces, which do the same things. In a task, `data`, `stream`, `download` and `upload` suspend until there
/// is a result, and throw. The classic verbs need no task: `dispatchShort` and `dispatchLong` return at once and tell a
/// completion or a ``URLDispatchDelegate``, `dispatchSynchronously` blocks a thread. Their arguments come in the same order:
/// the request (or a URL as text), `to:` for a file, `lane:` where the verb does not say it, `policy:` for a full long lane,
/// `onProgress:`, and the completion; a delegate comes right after the request. Without a task `dispatchShort(enqueuing:)` waits for a place in
/// the queue, so that a list is read only as fast as it is worked off.
///
/// One dispatcher for a process is what most programs want: two of them know nothing of each other, and their limits
/// add up at the server, unless they share a gate. All calls are safe from any thread.
public final class URLDispatcher: Sendable {
  /// The gate that every request goes through. Bare permits for other work come from here too.
  public let gate: EndPointGate

  let core: DispatchCore
  private let ownsGate: Bool

  /// A dispatcher over a transport.
  ///
  /// - Parameters:
  ///   - transport: What carries the requests. It belongs to this dispatcher, which shuts it down at its end.
  ///   - limits: How many requests at once, for each end-point and in all; how many may wait.
  ///   - timers: The clock that limits on time follow.
  ///   - logger: Where its gate tells of leaked permits, and of a second gate at the same end-point.
  ///   - observers: Who hears of its requests; see ``DispatchObserver``.
  ///   - interceptors: Who changes its requests before they start, in this order; see ``RequestInterceptor``.
  ///   - maxBodyMemory: How many bytes the bodies that are gathered in memory may have together; see
  ///     ``standardBodyMemory``.
  public init(
    transport: any Transport, limits: GateLimits = .standard, timers: any TimerService = TimerThread.shared,
    logger: Logger = Logger(label: "headgate.dispatcher"), observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], maxBodyMemory: Int = URLDispatcher.standardBodyMemory
  ) {
    gate = EndPointGate(limits: limits, timers: timers, logger: logger)
    core = DispatchCore(gate, transport, observers, interceptors, maxBodyMemory: maxBodyMemory)
    ownsGate = true
    let operations = core.operations
    transport.use(gate.sockets)
    gate.whenDrained { transport.shutDown { operations.transportEnded() } }
  }

  /// A dispatcher that shares a gate with others, so that the limits hold for all of them together.
  ///
  /// It ends by itself: its shutdown ends its own requests, and leaves the gate and the others alone. When the gate
  /// is closed by the dispatcher that made it, this one takes nothing new either.
  ///
  /// - Parameters:
  ///   - transport: What carries the requests. It belongs to this dispatcher.
  ///   - gate: The gate: that of another dispatcher, or one of your own.
  ///   - observers: Who hears of this dispatcher's requests; see ``DispatchObserver``.
  ///   - interceptors: Who changes this dispatcher's requests before they start; see ``RequestInterceptor``.
  ///   - maxBodyMemory: How many bytes the bodies that are gathered in memory may have together; see
  ///     ``standardBodyMemory``.
  public init(
    transport: any Transport, sharing gate: EndPointGate, observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], maxBodyMemory: Int = URLDispatcher.standardBodyMemory
  ) {
    self.gate = gate
    core = DispatchCore(gate, transport, observers, interceptors, maxBodyMemory: maxBodyMemory)
    ownsGate = false
    let operations = core.operations
    transport.use(gate.sockets)
    operations.whenLast { transport.shutDown { operations.transportEnded() } }
  }

  /// A dispatcher that is let go finishes what it has accepted, then closes its connections.
  deinit { close(.drain) }

  /// The limits in force; see ``EndPointGate/limits``. They are the gate's, and so those of all that share it.
  public var limits: GateLimits {
    get { gate.limits }
    set { gate.limits = newValue }
  }

  /// Changes a part of the limits, so that no change of another thread is lost; see ``EndPointGate/updateLimits(_:)``.
  ///
  /// - Throws: What `change` throws; then nothing has changed.
  public func updateLimits<Failure: Error>(_ change: (inout GateLimits) throws(Failure) -> Void) throws(Failure) {
    try gate.updateLimits(change)
  }

  /// Holds an end-point to a limit of its own from now on; nil gives it the common one again.
  public func setLimits(_ limits: EndPointLimits?, for endPoint: EndPoint) {
    gate.setLimits(limits, for: endPoint)
  }

  /// What its gate is doing at this moment, end-point by end-point, for a person to read: see ``EndPointGate/snapshot()``.
  /// Dispatchers that share a gate show the same.
  public func snapshot() -> GateSnapshot { gate.snapshot() }

  /// The memory that the bodies which a dispatcher gathers may take together, unless it is made with another number: 256 MiB.
  ///
  /// Above it the transport stops reading all of them but the eldest, which goes on to its end (each body has its own
  /// ``DispatchRequest/maxBodyBytes``), and lets the others go on in their order as room comes free; nothing fails. The time
  /// that a request waits so is not counted by its `timeout`. With zero one body is read after the other. Bodies up to 64 KB
  /// are not counted, nor what was handed to a caller; streams, files and delegates have bounds of their own. Where the
  /// transport can't hold a body back (``TransportCapabilities/backPressure``; over libcurl, one of several that share an
  /// HTTP/2 connection) what it has read meanwhile is gathered all the same, or waits in its own memory.
  public static let standardBodyMemory = 256 << 20

  /// An operation whose response is gathered in memory.
  func makeGathering(
    _ request: DispatchRequest, _ lane: RequestLane, _ acceptance: Acceptance? = nil,
    _ completion: @escaping ResponseCompletion
  ) -> DispatchOperation {
    let sink = CollectingSink(cap: request.maxBodyBytes, acceptance: acceptance, completion)
    let operation = makeOperation(request, lane, sink)
    sink.attach(operation)
    return operation
  }

  func makeOperation(
    _ request: DispatchRequest, _ lane: RequestLane, _ sink: consuming any ResponseSink
  ) -> DispatchOperation {
    DispatchOperation(request, lane, core, sink, core.isIntercepted ? .intercepted : .plain)
  }

  // MARK: The end

  /// Ends the dispatcher, and returns once nothing runs or waits, every caller was told and the connections are closed. What is
  /// submitted from now on fails with `shutDown`. A second call may go further than the first.
  public func shutDown(_ mode: ShutdownMode = .drain) async {
    close(mode)
    await core.operations.ended.wait()
  }

  /// Begins a shutdown and returns at once: from here on nothing starts that the mode would not let start.
  package func beginShutDown(_ mode: ShutdownMode) { close(mode) }

  /// Ends the dispatcher at once and returns: what waits and what runs fails with `shutDown`.
  public func dispose() { close(.now) }

  private func close(_ mode: ShutdownMode) {
    guard !ownsGate else {
      gate.close(mode.closing)
      for operation in core.endRests(all: mode != .drain) { operation.fail(DispatchError(.shutDown)) }
      return
    }
    // Kept from being closed until its own requests were asked to end, since the last of them closes the transport.
    core.operations.add()
    core.operations.close()
    for operation in operations() {
      // What waits for an end-point that was stopped by hand would never run.
      let mustWait = mode == .drain && !gate.isPaused(operation.endPoint)
      if mode == .now || operation.isWaiting && !mustWait { operation.fail(DispatchError(.shutDown)) }
    }
    for operation in core.endRests(all: mode != .drain) { operation.fail(DispatchError(.shutDown)) }
    core.operations.remove()
  }

  // MARK: Cancelling

  /// Cancels all requests of this dispatcher that carry a tag, waiting or running: they end with the error `cancelled`.
  /// What is submitted while this runs may or may not be among them. O(n) in all that waits or runs.
  ///
  /// - Returns: How many it asked to end.
  @discardableResult
  public func cancelAll(tag: String) -> Int { cancelAll { $0.request.tag == tag } }

  /// Cancels all requests of this dispatcher for an end-point, waiting or running; as `cancelAll(tag:)`. A request that was
  /// redirected counts where it is now. See ``EndPointGate/cancelAll(to:)`` for those of all that share the gate.
  ///
  /// - Returns: How many it asked to end.
  @discardableResult
  public func cancelAll(to endPoint: EndPoint) -> Int { cancelAll(at: endPoint) { _ in true } }

  private func cancelAll(at endPoint: EndPoint? = nil, where isMeant: (DispatchOperation) -> Bool) -> Int {
    let meant = operations(at: endPoint).filter(isMeant)
    for operation in meant { operation.cancel() }
    return meant.count
  }

  /// This dispatcher's own among all that the gate knows, those between two attempts and those that interceptors work on.
  private func operations(at endPoint: EndPoint? = nil) -> [DispatchOperation] {
    gate.clients(at: endPoint).compactMap { $0 as? DispatchOperation }.filter { $0.core === core }
      + core.atRest.filter { endPoint == nil || $0.endPoint == endPoint }
  }

  /// Runs `body` with a dispatcher that ends with it: after a return everything that was accepted is finished, after an
  /// error it is cancelled.
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
public struct ShutdownMode: Sendable, Hashable {
  let closing: Scheduler<any GateClient>.Closing

  /// Takes nothing new; finishes all that runs or waits, and what interceptors work on. No retry is made: a request that
  /// rests before another attempt fails with `shutDown`, and one that fails from now on has failed.
  public static let drain = ShutdownMode(closing: .draining)
  /// Finishes what runs; what waits fails with `shutDown`.
  public static let graceful = ShutdownMode(closing: .ending)
  /// What runs and what waits fails with `shutDown`.
  public static let now = ShutdownMode(closing: .aborting)
}
