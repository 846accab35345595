import HeadgateThreads
import Logging
import Synchronization

/// Admits work to end-points, never more at a time than each tolerates. All work that shares the limits passes through
/// this gate.
///
/// Every `URLDispatcher` (module HeadgateDispatch) has one. It is also useful alone, for work that is not HTTP: a
/// database, a device, a protocol of your own.
///
///     let gate = EndPointGate()
///     let rows = try await gate.withPermit(for: EndPoint(host: "db.local", port: 5432)) { try await query() }
///
/// Permits of an end-point are granted in order of arrival in each lane. At the total limit, end-points take turns. A
/// waiting request costs a node in a queue, never a thread. Each operation takes O(1), with some exceptions that take
/// O(log n): a request that returns after a redirect, a change of priority while waiting, a full queue where requests
/// displace others, and grants at the total limit. Queries about all end-points take time in proportion to their
/// number.
public final class EndPointGate: Sendable {
  // A separate object, so that the registry can query it while the gate is being deinitialized.
  let state: LockedGateState
  /// The sockets under the gate's limits, for transports.
  public let sockets: GateSockets
  /// The bandwidth limits, for the transfers of all dispatchers.
  package let bandwidth: GateBandwidth
  /// The event streams of all dispatchers that wait to reconnect.
  package let closingWaits = ClosingWaits()
  /// The requests of all dispatchers that are between two attempts, or in interceptors.
  package let outside = OutsideRequests()
  private let drained = OneShot<Void>()
  /// Nil for a gate whose end-points are shared with other gates on purpose, under a coordinator.
  private let registry: GateRegistry?
  /// The permits that several programs share. Nil without a coordinator.
  let shared: SharedPermits?
  /// What outlives the process. Nil if nothing does.
  let memory: GateState?
  let handover = PermitHandover()
  package let timers: any TimerService
  let logger: Logger
  /// Whether pauses or a breaker are configured.
  let hearing: Atomic<Bool>
  /// Whether answers matter to the scheduler. While they don't, only trouble is reported. Written under the lock.
  let guarding: Atomic<Bool>

  /// The number of effects that a caller delivers before the rest is left to a separate thread. Nearly always there is
  /// one effect. A raised limit, or a transport that completes inside its start, produces more.
  private static let deliveriesACaller = 32
  /// Delivers the rest, for all gates.
  private static let overflow = SerialLane(on: LaneCrew(name: "headgate-overflow", size: 1))

  /// Creates a gate.
  ///
  /// - Parameters:
  ///   - limits: The maximum number of running requests, for each end-point and in total, and of waiting requests.
  ///   - timers: The clock for deadlines.
  ///   - logger: Receives warnings: leaked permits, and a second gate at the same end-point.
  ///   - coordinator: Grants the permits that several gates or programs share. Nil if the limits are the gate's alone.
  ///   - state: Keeps what servers have said for later processes. Nil: it ends with the gate.
  public convenience init(
    limits: GateLimits = .standard, timers: any TimerService = TimerThread.requests,
    logger: Logger = Logger(label: "headgate.dispatcher"), coordinator: (any GateCoordinator)? = nil,
    state: GateState? = nil
  ) {
    self.init(limits, timers, logger, coordinator: coordinator, memory: state)
  }

  /// Creates a gate.
  ///
  /// - Parameter isCoordinated: Whether the gate belongs to a coordinator.
  package init(
    _ limits: GateLimits, _ timers: any TimerService, _ logger: Logger, coordinator: (any GateCoordinator)? = nil,
    isCoordinated: Bool = false, memory: GateState? = nil
  ) {
    self.memory = memory
    shared = coordinator.map { SharedPermits($0) }
    state = LockedGateState(limits)
    registry = isCoordinated || coordinator != nil ? nil : GateRegistry()
    sockets = GateSockets(state)
    bandwidth = GateBandwidth(state, limits, timers)
    self.timers = timers
    self.logger = logger
    hearing = Atomic(limits.hearsOutcomes)
    guarding = Atomic(limits.adaptive != nil)
    if registry != nil { GateRegistry.enter(state) }
    if let coordinator { hearPauses(of: coordinator) }
  }

  deinit {
    state.withLock { $0.alarm.end() }?.cancel()
    if registry != nil { GateRegistry.leave(state) }
  }

  /// Grants the permits that several programs share, to all that passes the gate.
  package var coordinator: (any GateCoordinator)? { shared?.coordinator }

  /// The limits in force. Read-only: assigning a changed copy would lose the concurrent changes of other threads. Use
  /// ``updateLimits(_:)``.
  public var limits: GateLimits { state.withLock { $0.scheduler.limits } }

  /// Replaces all limits, including those of single end-points.
  ///
  /// Lower limits end no request: nothing more starts until it fits. Excess idle connections are closed now, and excess
  /// connections in use when they become idle. After higher limits, all requests that now fit start.
  public func setLimits(_ limits: GateLimits) { changeLimits { $0.setLimits(limits) } }

  /// Changes a part of the limits atomically, so that concurrent changes are not lost. Otherwise like
  /// ``setLimits(_:)``.
  ///
  ///     gate.updateLimits { $0.rules[pattern] = limits }
  ///
  /// - Parameter change: Changes its argument. It is called with no lock held, and called again if the limits were
  ///   changed in the meantime, so it must have no other effect.
  /// - Throws: The error that `change` throws. Then the limits are unchanged.
  public func updateLimits<Failure: Error>(_ change: (inout GateLimits) throws(Failure) -> Void) throws(Failure) {
    while true {
      var (limits, version) = state.withLock { ($0.scheduler.limits, $0.scheduler.limitsVersion) }
      try change(&limits)
      let changed = limits
      let isDone = changeLimits { scheduler in
        guard scheduler.limitsVersion == version else { return false }
        scheduler.setLimits(changed)
        return true
      }
      if isDone { return }
    }
  }

  /// Sets a limit for one end-point; nil restores the common limit. O(1), plus the requests that it starts.
  public func setLimits(_ limits: EndPointLimits?, for endPoint: EndPoint) {
    changeLimits(at: endPoint) { $0.setLimits(limits, for: endPoint) }
  }

  /// The limits that were set for one end-point. A copy of all limits would make the next change copy them.
  func ownLimits(of endPoint: EndPoint) -> EndPointLimits? {
    state.withLock { $0.scheduler.limits.overrides[endPoint] }
  }

  /// Changes the limits of permits and sockets under one hold of the lock, then acts on both.
  ///
  /// - Parameter endPoint: The only end-point affected. Nil if others may be.
  func changeLimits<Result: Sendable>(
    at endPoint: EndPoint? = nil, _ event: (inout sending Scheduler<any GateClient>) -> Result
  ) -> Result {
    let (result, act) = decideLimits(at: endPoint, event)
    act()
    return result
  }

  /// Changes the limits. Also returns the action that follows, to be called with no lock held.
  private func decideLimits<Result: Sendable>(
    at endPoint: EndPoint? = nil, _ event: (inout sending Scheduler<any GateClient>) -> Result
  ) -> (Result, @Sendable () -> Void) {
    let (result, calls) = state.withLock { state in
      // Even if nothing has asked for the time so far: the change may introduce the first rate, and start requests.
      state.scheduler.advance(to: timers.now)
      let result = event(&state.scheduler)
      hearing.store(state.scheduler.limits.hearsOutcomes, ordering: .relaxed)
      updateGuard(state.scheduler.isOnGuard)
      state.sockets.limitsChanged(at: endPoint, state.scheduler.limits)
      return (result, sockets.takeCalls(&state) + state.limitsCalls)
    }
    let act: @Sendable () -> Void = { [self] in
      for call in calls { call() }
      bandwidth.limitsChanged(at: endPoint)
      // Starts what became eligible.
      perform { _ in }
    }
    return (result, act)
  }

  // MARK: Manual control

  /// Stops an end-point: no request starts there until ``resume(_:)``. Running requests may finish. Waiting requests
  /// keep their places and their deadlines. If the gate or their dispatcher closes, they end with `shutDown`, since they
  /// would never run. O(n) in the requests that wait there.
  public func stop(_ endPoint: EndPoint) {
    perform { $0.setStopped(true, at: endPoint) }
    // A request outside the gate looks for itself when it comes back.
    for client in state.withLock({ $0.scheduler.waitingItems(at: endPoint, nil) }) { client.stopped() }
  }

  /// Resumes an end-point that was stopped. All requests that fit start now.
  public func resume(_ endPoint: EndPoint) { perform { $0.setStopped(false, at: endPoint) } }

  /// Whether an end-point was stopped by ``stop(_:)``.
  public func isStopped(_ endPoint: EndPoint) -> Bool { state.withLock { $0.scheduler.stopped.contains(endPoint) } }

  /// Cancels all requests to an end-point of every dispatcher that shares the gate: those that wait or run, those
  /// between two attempts, and those in interceptors. They end with the error `cancelled`. Bare permits that are
  /// held are not affected. A request submitted during the call may or may not be included. O(n) in all requests.
  ///
  /// - Returns: The number of requests that were asked to end.
  @discardableResult
  public func cancelAll(to endPoint: EndPoint) -> Int {
    let clients = allClients(at: endPoint)
    for client in clients { client.asked(toEndBecause: .cancelled) }
    return clients.count
  }

  /// The waiting requests for bare permits.
  package var permitRequests: [PermitRequest] { clients(at: nil).compactMap { $0 as? PermitRequest } }

  /// Sets limits as if the gate were new, and resumes all end-points that were stopped by hand. Returns an action that
  /// starts all requests that now fit, to be called with no lock held.
  package func startAfresh(_ limits: GateLimits) -> @Sendable () -> Void {
    decideLimits { scheduler in
      for endPoint in scheduler.stopped { scheduler.setStopped(false, at: endPoint) }
      scheduler.setLimits(limits)
    }.1
  }

  func clients(at endPoint: EndPoint?) -> [any GateClient] { state.withLock { $0.scheduler.items(at: endPoint) } }

  /// All clients at an end-point, or at all of them, with the requests that are outside the gate.
  package func allClients(at endPoint: EndPoint?) -> [any GateClient] {
    var all: [any GateClient] = []
    var known: Set<ObjectIdentifier> = []
    // Requests outside the gate are read first: one that returns meanwhile is in the gate by then. One that has come
    // out since may have left the gate before the gate was read, so both are read again. The number of rounds is
    // bounded, because new requests need not be included.
    for _ in 0..<8 {
      let (outside, number) = outside.all
      let meant = outside.filter { endPoint == nil || $0.endPoint == endPoint }
      for client in clients(at: endPoint) + meant where known.insert(ObjectIdentifier(client)).inserted {
        all.append(client)
      }
      if self.outside.lastNumber == number { break }
    }
    return all
  }

  /// Whether new requests are rejected.
  package var isClosing: Bool { state.withLock { $0.scheduler.closing != .open } }

  /// Moves a request to the place of its priority. `priority` is read until it stays the same: two threads that change it
  /// may come here in the other order.
  package func setPriority(of ticket: Ticket, to priority: () -> RequestPriority) {
    var latest = priority()
    while true {
      let told = latest
      _ = perform { $0.setPriority(told, of: ticket) }
      latest = priority()
      if latest == told { return }
    }
  }

  // MARK: Events

  package func submit(
    _ client: any GateClient, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority,
    patience: Patience, mayBeHeld: Bool, at moment: Deadline,
    as admission: Admission = .new, needs: StartNeeds? = nil,
    until deadline: Deadline = .distantFuture
  ) -> Submission {
    if memory != nil { recall(endPoint) }
    // Inside a delivery nothing starts here: the frame below starts it, so that the stack does not grow.
    let isInside = DeliveryFrame.find(ObjectIdentifier(self)) != nil
    // One that does not wait is not called back, so its start does not let the stack grow either.
    let mayStart = !isInside || patience == .none
    let (submission, hasMore, isNew, isTimed) = state.withLock { state in
      let met = state.scheduler.endPoints.newCount
      let submission = state.scheduler.submit(
        client, to: endPoint, lane, priority: priority, at: moment, patience: patience, mayBeHeld: mayBeHeld,
        mayStart: mayStart, as: admission, needs: needs, until: deadline)
      let isNew = state.scheduler.endPoints.newCount != met
      updateGuard(state.scheduler.isOnGuard)
      return (submission, state.scheduler.hasEffects, isNew, state.isTimed)
    }
    if isTimed { setAlarm() }
    if isNew { registry?.meets(endPoint, state, logger) }
    if isInside {
      if case .started(let ticket) = submission { act(on: .start(client, ticket), after: WaitTimes(), at: moment) }
      if hasMore { DeliveryFrame.find(ObjectIdentifier(self))?.pointee.hasMore = true }
    } else if case .started(let ticket) = submission {
      deliver((.start(client, ticket), WaitTimes()), at: moment, hasMore: hasMore, atMost: Self.deliveriesACaller)
    } else if hasMore {
      deliver(atMost: Self.deliveriesACaller)
    }
    guard shared != nil || memory != nil, case .started(let ticket) = submission, waitsAfterAll(ticket) else {
      return submission
    }
    return .accepted(ticket)
  }

  /// Returns a permit. `hasStarted`: whether rates count it.
  package func finish(_ ticket: Ticket, hasStarted: Bool = true) {
    // Before the gate's, because the next request needs both.
    if let permit = shared?.take(ticket) {
      if hasStarted { permit.release() } else { permit.decline() }
    }
    // The item that ends is released after the lock.
    _ = perform { $0.finish(ticket, hasStarted: hasStarted) }
  }

  /// Returns a permit unused, so that no rate counts it.
  package func decline(_ ticket: Ticket) {
    if memory != nil { giveBackStart(of: ticket) }
    finish(ticket, hasStarted: false)
  }

  package func withdraw(_ ticket: Ticket) {
    // The item that ends is released after the lock.
    if let asked = shared?.cancel(ticket) {
      let waited = Self.sharedWait(since: asked, at: timers.now)
      _ = perform { scheduler in
        scheduler.add(waited, of: ticket)
        return scheduler.finish(ticket, hasStarted: false)
      }
    } else {
      _ = perform { $0.withdraw(ticket) }
    }
  }

  package func move(_ ticket: Ticket, to endPoint: EndPoint, until deadline: Deadline) -> Move {
    if memory != nil { recall(endPoint) }
    // Taken out first: if the request may start at once, the coordinator is asked inside this call.
    let permit = shared?.take(ticket)
    let move = perform(readsClock: true) { $0.move(ticket, to: endPoint, until: deadline) }
    if let permit {
      if case .stays = move { shared?.keep(permit, for: ticket) } else { permit.release() }
    }
    return move
  }

  /// Whether a request that holds a permit is counted each time it is sent.
  package func countsStarts(of ticket: Ticket) -> Bool { state.withLock { $0.scheduler.countsStarts(of: ticket) } }

  package func reclass(_ ticket: Ticket) -> Reclass { perform { $0.reclass(ticket) } }

  /// Records whether an end-point's sockets carry several requests at a time. Called for each response, and nearly
  /// always without a change.
  package func note(multiplexes: Bool, at endPoint: EndPoint) {
    perform { $0.setMultiplexing(multiplexes, at: endPoint) }
  }

  /// Announces a request that will be submitted later or come back. See `Scheduler.expect`.
  package func expect(wasHere: Bool) -> Bool { state.withLock { $0.scheduler.expect(wasHere: wasHere) } }

  package func forgetExpected() { perform { $0.forgetExpected() } }

  package func close(_ mode: Closing) {
    perform { $0.close(mode) }
    closingWaits.close()
    guard mode >= .ending else { return }
    // A request that waits for its socket already holds a permit, so the scheduler counts it as running.
    for request in permitRequests { request.asked(toEndBecause: .shutDown) }
  }

  /// Calls `action` once the gate is closed and empty.
  package func whenDrained(_ action: @escaping @Sendable () -> Void) { drained.whenSet(action) }

  // MARK: The funnel

  /// Decides under the lock and acts after it. The first effect is taken out under the same hold of the lock.
  ///
  /// - Parameter readsClock: Whether a request may begin to wait. Otherwise the time matters only to limits on time and
  ///   to requests that wait already.
  func perform<Result: Sendable>(
    readsClock: Bool = false, _ event: (inout sending Scheduler<any GateClient>) -> Result
  ) -> Result {
    let frame = DeliveryFrame.find(ObjectIdentifier(self))
    let isInside = frame != nil
    let (result, effect, moment, hasMore, isTimed) = state.withLock { state in
      var moment: Deadline?
      if readsClock || state.scheduler.waiting > 0 || state.scheduler.isTimed {
        // The request that starts gets the time, and need not read the clock again.
        let now = timers.now
        state.scheduler.advance(to: now)
        moment = now
      }
      let result = event(&state.scheduler)
      updateGuard(state.scheduler.isOnGuard)
      let effect = isInside ? nil : state.scheduler.next().map { ($0, state.scheduler.waited) }
      return (result, effect, moment, state.scheduler.hasEffects, state.isTimed)
    }
    if isTimed { setAlarm() }
    if let effect { deliver(effect, at: moment, hasMore: hasMore, atMost: Self.deliveriesACaller) }
    if hasMore { frame?.pointee.hasMore = true }
    return result
  }

  /// Performs the first effect, if it was taken out already, then all effects that it and other events leave behind.
  func deliver(
    _ first: (effect: Scheduler<any GateClient>.Effect, waited: WaitTimes)? = nil, at moment: Deadline? = nil,
    hasMore: Bool = true, atMost limit: Int
  ) {
    var isCut = false
    DeliveryFrame.push(ObjectIdentifier(self), delivers: true) { frame in
      frame.pointee.hasMore = hasMore
      if let first { act(on: first.effect, after: first.waited, at: moment) }
      var delivered = 1
      while frame.pointee.hasMore {
        guard delivered < limit else {
          isCut = true
          return
        }
        let (next, waited, hasMore) = state.withLock { state in
          (state.scheduler.next(), state.scheduler.waited, state.scheduler.hasEffects)
        }
        guard let next else { return }
        frame.pointee.hasMore = hasMore
        act(on: next, after: waited, at: nil)
        delivered += 1
      }
    }
    // Outside the frame: if the system refuses a thread, this one runs the job, and those of other gates too. An event
    // in one of them must not leave its effects to a frame that delivers no more.
    if isCut { Self.overflow.run { [self] in deliver(atMost: .max) } }
  }

  private func act(on effect: Scheduler<any GateClient>.Effect, after waited: WaitTimes, at moment: Deadline?) {
    state.assertNotHeld()
    switch effect {
    case .start(let client, let ticket):
      if !waited.isEmpty { client.waited(waited) }
      if memory != nil, mustWait(client, ticket) { return }
      if let shared { share(client, ticket, under: shared) } else { client.granted(ticket, at: moment) }
    case .admit(let client): client.admitted()
    case .abort(let client): client.asked(toEndBecause: .shutDown)
    case .end(let client):
      client.waited(waited)
      client.asked(toEndBecause: .shutDown)
    case .shed(let client):
      client.waited(waited)
      client.asked(toEndBecause: .displaced)
    case .drained: drained.set()
    }
  }
}
