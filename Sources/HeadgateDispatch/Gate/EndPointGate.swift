import HeadgateThreads
import Logging
import Synchronization

/// Lets work through to end-points, never more at once than each tolerates: the one gate of every entry.
///
/// A ``URLDispatcher`` has one. It is useful alone, for work that is not HTTP: a database, a device, a protocol of your
/// own.
///
///     let gate = EndPointGate()
///     let rows = try await gate.withPermit(for: EndPoint(host: "db.local", port: 5432)) { try await query() }
///
/// The end-point's permits go first come, first served in each lane; end-points take turns at the total limit. A
/// waiting request costs a node in a queue, never a thread. Each operation costs O(1); O(log n) for one that comes back by a
/// redirect or whose priority is changed while it waits, where others may have to give way, and at the total limit.
/// Questions about all end-points cost as many as there are.
public final class EndPointGate: Sendable {
  // An object of its own, so that the registry can ask it while the gate itself goes.
  let state: LockedGateState
  /// The sockets under the gate's limits, for transports.
  public let sockets: GateSockets
  /// Those that wait for a moment to connect again, on behalf of all dispatchers.
  let closingWaits = ClosingWaits()
  private let drained = OneShot<Void>()
  private let registry = GateRegistry()
  let handover = PermitHandover()
  let timers: any TimerService
  let logger: Logger
  /// Whether pauses or a breaker are set.
  let hearing: Atomic<Bool>
  /// Whether any end-point has been in trouble, or limits are learned. Before that, a response that went well is not reported.
  let guarding: Atomic<Bool>

  /// How many effects a caller delivers before the rest goes to a thread of its own. Nearly always there is
  /// one; a raised limit or a transport that completes inside its start brings more.
  private static let deliveriesACaller = 32

  /// A gate.
  ///
  /// - Parameters:
  ///   - limits: How many at once, for each end-point and in all; how many may wait.
  ///   - timers: The clock that deadlines follow.
  ///   - logger: Where it tells of leaked permits, and of a second gate at the same end-point.
  public init(
    limits: GateLimits = .standard, timers: any TimerService = TimerThread.deadlines,
    logger: Logger = Logger(label: "headgate.dispatcher")
  ) {
    state = LockedGateState(limits)
    sockets = GateSockets(state)
    self.timers = timers
    self.logger = logger
    hearing = Atomic(limits.hearsOutcomes)
    guarding = Atomic(limits.adaptive != nil)
    GateRegistry.enter(state)
  }

  deinit {
    state.withLock { $0.alarm.end() }?.cancel()
    GateRegistry.leave(state)
  }

  /// The limits in force. They can't be set: what another thread has changed since they were read would be lost. See
  /// ``updateLimits(_:)``.
  public var limits: GateLimits { state.withLock { $0.scheduler.limits } }

  /// Puts other limits in the place of all that are in force, those of single end-points too.
  ///
  /// Lower limits end nothing: no more is started until it fits, idle connections beyond them are closed now, and those in
  /// use when they become idle. Higher ones start all that became eligible.
  public func setLimits(_ limits: GateLimits) { changeLimits { $0.setLimits(limits) } }

  /// Changes a part of the limits, so that no change of another thread is lost. As ``setLimits(_:)`` for the rest.
  ///
  ///     gate.updateLimits { $0.rules[pattern] = limits }
  ///
  /// - Parameter change: Changes what it is given. It runs with no lock held, and again if the limits were changed
  ///   meanwhile: it must do nothing else.
  /// - Throws: What `change` throws; then nothing has changed.
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

  /// Holds an end-point to a limit of its own from now on; nil gives it the common one again. O(1) beside what it starts.
  public func setLimits(_ limits: EndPointLimits?, for endPoint: EndPoint) {
    changeLimits(at: endPoint) { $0.setLimits(limits, for: endPoint) }
  }

  /// Changes the limits of permits and of sockets under one hold of the lock, then acts on both.
  ///
  /// - Parameter endPoint: The only one that is concerned; nil: perhaps all.
  func changeLimits<Result: Sendable>(
    at endPoint: EndPoint? = nil, _ event: (inout sending Scheduler<any GateClient>) -> Result
  ) -> Result {
    let (result, act) = decideLimits(at: endPoint, event)
    act()
    return result
  }

  /// Changes the limits. Returns also what acts on it, to be called with no lock held.
  private func decideLimits<Result: Sendable>(
    at endPoint: EndPoint? = nil, _ event: (inout sending Scheduler<any GateClient>) -> Result
  ) -> (Result, @Sendable () -> Void) {
    let (result, calls) = state.withLock { state in
      if state.scheduler.isTimed { state.scheduler.advance(to: timers.now) }
      let result = event(&state.scheduler)
      hearing.store(state.scheduler.limits.hearsOutcomes, ordering: .relaxed)
      if state.scheduler.limits.adaptive != nil { guarding.store(true, ordering: .relaxed) }
      state.sockets.limitsChanged(at: endPoint, state.scheduler.limits)
      return (result, sockets.takeCalls(&state) + state.limitsCalls)
    }
    let act: @Sendable () -> Void = { [self] in
      for call in calls { call() }
      // What became eligible.
      perform { _ in }
    }
    return (result, act)
  }

  // MARK: By hand

  /// Stops an end-point: nothing new starts there until ``resume(_:)``; what runs may finish, and what waits keeps its
  /// place, its deadline too. A gate that closes ends what waits there with `shutDown`, since it would never run.
  public func pause(_ endPoint: EndPoint) { perform { $0.setPaused(true, at: endPoint) } }

  /// Lets an end-point that was stopped go on: all that fits starts now.
  public func resume(_ endPoint: EndPoint) { perform { $0.setPaused(false, at: endPoint) } }

  /// Whether an end-point was stopped by hand.
  public func isPaused(_ endPoint: EndPoint) -> Bool { state.withLock { $0.scheduler.paused.contains(endPoint) } }

  /// Cancels all that waits or runs for an end-point, requests of every dispatcher that shares the gate: they end with the
  /// error `cancelled`. A bare permit that somebody holds stays held. What is submitted while this runs may or may not
  /// be among them. O(n) in all that waits or runs.
  ///
  /// - Returns: How many it asked to end.
  @discardableResult
  public func cancelAll(to endPoint: EndPoint) -> Int {
    let clients = clients(at: endPoint)
    for client in clients { client.asked(toEndBecause: DispatchError(.cancelled)) }
    return clients.count
  }

  /// The requests for a bare permit that wait.
  package var permitRequests: [PermitRequest] { clients(at: nil).compactMap { $0 as? PermitRequest } }

  /// Takes limits as if it were new, and lets all end-points go on that were stopped by hand. Returns what starts all that
  /// fits now, to be called with no lock held.
  package func startAfresh(_ limits: GateLimits) -> @Sendable () -> Void {
    decideLimits { scheduler in
      for endPoint in scheduler.paused { scheduler.setPaused(false, at: endPoint) }
      scheduler.setLimits(limits)
    }.1
  }

  func clients(at endPoint: EndPoint?) -> [any GateClient] { state.withLock { $0.scheduler.items(at: endPoint) } }

  /// Whether it takes nothing new.
  var isClosing: Bool { state.withLock { $0.scheduler.closing != .open } }

  func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Bool {
    perform { $0.setPriority(priority, of: ticket) }
  }

  /// How many hold a permit, how many wait, and the most that held one at once at any one end-point so far.
  public var counts: GateCounts {
    state.withLock { state in
      GateCounts(
        running: state.scheduler.running, waiting: state.scheduler.waiting,
        endPoints: state.scheduler.rememberedEndPoints, peak: state.scheduler.peak.running,
        peakEndPoint: state.scheduler.peak.endPoint)
    }
  }

  // MARK: Events

  func submit(
    _ client: any GateClient, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority,
    patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool, at moment: Deadline,
    as admission: Scheduler<any GateClient>.Admission = .new, needs: StartNeeds? = nil,
    until deadline: Deadline = .distantFuture
  ) -> Scheduler<any GateClient>.Submission {
    // Inside a delivery nothing starts here: the frame below does it, so that the stack does not grow.
    let isInside = DeliveryFrame.find(ObjectIdentifier(self)) != nil
    let (submission, hasMore, isNew, isTimed) = state.withLock { state in
      let met = state.scheduler.metEndPoints
      let submission = state.scheduler.submit(
        client, to: endPoint, lane, priority: priority, at: moment, patience: patience, mayBeHeld: mayBeHeld,
        mayStart: !isInside, as: admission, needs: needs, until: deadline)
      let isNew = state.scheduler.metEndPoints != met
      return (submission, state.scheduler.hasEffects, isNew, state.isTimed)
    }
    if isTimed { setAlarm() }
    if isNew { registry.meets(endPoint, state, logger) }
    if isInside {
      if hasMore { DeliveryFrame.find(ObjectIdentifier(self))?.pointee.hasMore = true }
      return submission
    }
    if case .started(let ticket) = submission {
      deliver(.start(client, ticket), at: moment, hasMore, atMost: Self.deliveriesACaller)
    } else if hasMore {
      deliver(atMost: Self.deliveriesACaller)
    }
    return submission
  }

  // The item that ends goes when the lock is free again.
  func finish(_ ticket: Ticket) { _ = perform { $0.finish(ticket) } }

  /// It was granted a permit and does nothing with it: no rate has counted it.
  func decline(_ ticket: Ticket) { _ = perform { $0.finish(ticket, hasStarted: false) } }

  func withdraw(_ ticket: Ticket) -> Scheduler<any GateClient>.Withdrawal { perform { $0.withdraw(ticket) } }

  func move(_ ticket: Ticket, to endPoint: EndPoint, until deadline: Deadline) -> Scheduler<any GateClient>.Move {
    perform { $0.move(ticket, to: endPoint, until: deadline) }
  }

  /// Whether a request that holds a permit is counted each time it is sent.
  func countsStarts(of ticket: Ticket) -> Bool { state.withLock { $0.scheduler.countsStarts(of: ticket) } }

  func reclass(_ ticket: Ticket) -> Scheduler<any GateClient>.Reclass { perform { $0.reclass(ticket) } }

  /// Whether an end-point's sockets carry several requests at once. Told with each response, and nearly always nothing new.
  func note(multiplexes: Bool, at endPoint: EndPoint) { perform { $0.setMultiplexing(multiplexes, at: endPoint) } }

  /// A request will come later, or come back; see `Scheduler.expect`.
  func expect(wasHere: Bool) -> Bool { state.withLock { $0.scheduler.expect(wasHere: wasHere) } }

  func forgetExpected() { perform { $0.forgetExpected() } }

  func close(_ mode: Scheduler<any GateClient>.Closing) {
    perform { $0.close(mode) }
    closingWaits.close()
    guard mode >= .ending else { return }
    // One that waits for its socket has its permit already: for the scheduler it runs.
    for request in permitRequests { request.asked(toEndBecause: DispatchError(.shutDown)) }
  }

  /// Calls `action` once the gate is closed and empty.
  func whenDrained(_ action: @escaping @Sendable () -> Void) { drained.whenSet(action) }

  // MARK: The funnel

  /// Decides under the lock, acts after it. The first effect comes out under the same hold of the lock.
  func perform<Result: Sendable>(_ event: (inout sending Scheduler<any GateClient>) -> Result) -> Result {
    if let frame = DeliveryFrame.find(ObjectIdentifier(self)) {
      let (result, hasMore, isTimed) = state.withLock { state in
        if state.scheduler.isTimed { state.scheduler.advance(to: timers.now) }
        return (event(&state.scheduler), state.scheduler.hasEffects, state.isTimed)
      }
      if isTimed { setAlarm() }
      if hasMore { frame.pointee.hasMore = true }
      return result
    }
    let (result, effect, hasMore, isTimed) = state.withLock { state in
      if state.scheduler.isTimed { state.scheduler.advance(to: timers.now) }
      return (event(&state.scheduler), state.scheduler.next(), state.scheduler.hasEffects, state.isTimed)
    }
    if isTimed { setAlarm() }
    if let effect { deliver(effect, at: nil, hasMore, atMost: Self.deliveriesACaller) }
    return result
  }

  /// Delivers what there is to deliver.
  func deliver(atMost limit: Int) {
    let (effect, hasMore) = state.withLock { state in (state.scheduler.next(), state.scheduler.hasEffects) }
    if let effect { deliver(effect, at: nil, hasMore, atMost: limit) }
  }

  /// Does the first thing, then all that it and others leave to be done.
  private func deliver(
    _ first: Scheduler<any GateClient>.Effect, at moment: Deadline?, _ hasMore: Bool, atMost limit: Int
  ) {
    DeliveryFrame.with(ObjectIdentifier(self)) { frame in
      frame.pointee.hasMore = hasMore
      act(on: first, at: moment)
      var delivered = 1
      while frame.pointee.hasMore {
        if delivered >= limit, OverflowDelivery.shared.takeOver(self) { return }
        let (next, hasMore) = state.withLock { state in (state.scheduler.next(), state.scheduler.hasEffects) }
        guard let next else { return }
        frame.pointee.hasMore = hasMore
        act(on: next, at: nil)
        delivered += 1
      }
    }
  }

  private func act(on effect: Scheduler<any GateClient>.Effect, at moment: Deadline?) {
    state.assertNotHeld()
    switch effect {
    case .start(let client, let ticket): client.granted(ticket, at: moment)
    case .admit(let client): client.admitted()
    case .end(let client): client.turnedAway(.shutDown)
    case .shed(let client): client.turnedAway(.displaced)
    case .abort(let client): client.asked(toEndBecause: DispatchError(.shutDown))
    case .drained: drained.set()
    }
  }
}

/// What a gate is doing.
public struct GateCounts: Sendable, Hashable {
  /// Permits held, over all end-points.
  public let running: Int
  /// Requests that wait for one.
  public let waiting: Int
  /// End-points where something runs or waits.
  public let endPoints: Int
  /// The most permits held at once at any one end-point since the gate was made.
  public let peak: Int
  /// Where that was; nil before the first permit.
  public let peakEndPoint: EndPoint?
}
