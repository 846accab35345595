import HeadgateThreads

/// A request for a bare permit. Ends once, with the permit or an error.
///
/// The holder of a permit opens its own connection, so the permit comes with a socket. If idle connections use all
/// sockets of the end-point, the request waits until one of them is closed.
public final class PermitRequest: GateClient, Sendable {
  typealias Completion = @Sendable (Result<Permit, DispatchError>) -> Void

  private struct State {
    var completion: Completion?
    var ticket: Ticket?
    // Set when the permit is granted: leases the socket.
    var leases: SocketLeases?
    // Whether it waits for a socket if none is free.
    var isPatient = true
    // Whether a socket was refused once.
    var hasWaited = false
    var timer: ScheduledTimer?
    var deadline: Deadline?
    var priority: RequestPriority
  }

  private let gate: EndPointGate
  package let endPoint: EndPoint
  private let submitted: Deadline
  private let origin: CallSite
  private let needs: StartNeeds?
  private let state: Locked<State>

  init(
    _ gate: EndPointGate, _ endPoint: EndPoint, _ priority: RequestPriority, _ needs: StartNeeds?, _ origin: CallSite,
    _ completion: @escaping Completion
  ) {
    self.needs = needs
    self.gate = gate
    self.endPoint = endPoint
    self.origin = origin
    self.submitted = gate.timers.now
    self.state = Locked(State(completion: completion, priority: priority))
  }

  /// Gives up the place in the queue: the completion gets the error `cancelled`. Has no effect after the permit was
  /// handed over.
  public func cancel() { end(with: .cancelled) }

  /// The limit that keeps the request from starting, and the number of requests ahead of it. Nil if it does not wait
  /// for a permit, or waits only for its socket. O(n) in all requests that run or wait at the gate.
  public var waitReason: WaitReason? { state.withLock { $0.ticket }.flatMap { gate.waitReason(of: $0) } }

  /// The priority. A change while the request waits moves it to the place that it would have had from the start, in
  /// O(log n). Has no effect afterwards.
  public var priority: RequestPriority {
    get { state.withLock { $0.priority } }
    set {
      let ticket = state.withLock { state in
        state.priority = newValue
        return state.ticket
      }
      // Without a ticket, the request is on its way to the gate: the thread that submits it checks again.
      if let ticket { gate.setPriority(of: ticket) { self.priority } }
    }
  }

  func submit(_ lane: RequestLane, patience: Patience = .waits, deadline: Duration?, mayBeHeld: Bool) {
    let (isWanted, priority) = state.withLock { state in
      state.isPatient = patience != .none
      return (state.completion != nil, state.priority)
    }
    // A request that was cancelled on its way takes no place in a full queue from another one.
    guard isWanted else { return }
    if let deadline {
      guard deadline > .zero else { return end(with: .deadlineExceeded) }
      state.withLock { $0.deadline = submitted + deadline }
      let timer = gate.timers.schedule(at: submitted + deadline) { [self] in end(with: .deadlineExceeded) }
      let isOver = state.withLock { state in
        if state.completion != nil { state.timer = timer }
        return state.completion == nil
      }
      if isOver { timer.cancel() }
    }
    switch gate.submit(
      self, to: endPoint, lane, priority: priority, patience: patience, mayBeHeld: mayBeHeld, at: submitted,
      needs: needs, until: deadline.map { submitted + $0 } ?? .distantFuture)
    {
    case .started: break
    case .accepted(let ticket), .held(let ticket):
      // If the request was cancelled or changed before the ticket was known here, that takes effect now.
      let (isOver, latest) = state.withLock { state in
        state.ticket = ticket
        return (state.completion == nil, state.priority)
      }
      if isOver { gate.withdraw(ticket) } else if latest != priority { gate.setPriority(of: ticket) { self.priority } }
    case .refused(let refusal): end(with: refusal.error(at: endPoint))
    }
  }

  private func end(with code: DispatchError.Code) { end(with: DispatchError(code)) }

  private func end(with error: DispatchError) {
    guard let taken = take() else { return }
    var reason = error.waitReason
    if let leases = taken.leases {
      leases.leave()
      if let ticket = taken.ticket { gate.decline(ticket) }
    } else if let ticket = taken.ticket {
      if reason == nil, error.code == .deadlineExceeded { reason = gate.waitReason(of: ticket, asNext: true) }
      gate.withdraw(ticket)
    }
    let error = DispatchError(
      error.code, endPoint: endPoint, waited: gate.timers.now - submitted, waitReason: reason)
    call(taken, .failure(error))
  }

  /// Takes out the completion and all that belongs to it. The caller that gets it decides the outcome.
  private func take() -> State? {
    let taken = state.withLock { state -> State? in
      guard state.completion != nil else { return nil }
      defer { state = State(priority: state.priority) }
      return state
    }
    taken?.timer?.cancel()
    return taken
  }

  private func call(_ taken: State, _ result: Result<Permit, DispatchError>) {
    DeliveryFrame.mark(ObjectIdentifier(gate)) { taken.completion?(result) }
  }

  // MARK: GateClient

  package func granted(_ ticket: Ticket, at moment: Deadline?) {
    let leases = gate.sockets.join(Holder(self), keepsIdle: false)
    let isWanted = state.withLock { state in
      guard state.completion != nil else { return false }
      (state.ticket, state.leases) = (ticket, leases)
      return true
    }
    guard isWanted else {
      // Cancelled between the grant and this point.
      leases.leave()
      return gate.decline(ticket)
    }
    leaseSocket()
  }

  /// Hands over the permit if a socket is available.
  private func leaseSocket() {
    let route = SocketRoute(to: endPoint)
    guard let (leases, waits) = state.withLock({ state in state.leases.map { ($0, state.isPatient) } }) else { return }
    guard leases.lease(route, waits: waits) else {
      // The turn may come twice. If the first one ended the request, a wait that began with the second must stop.
      let isOver = state.withLock { state in
        state.hasWaited = true
        return state.leases == nil
      }
      if isOver { leases.stopWaiting(route) }
      return
    }
    // It may have ended in the meantime.
    guard let taken = take(), let ticket = taken.ticket else { return leases.release(route) }
    if taken.hasWaited { leases.stopWaiting(route) }
    let now = gate.timers.now
    let permit = Permit(gate, ticket, leases, endPoint, waited: now - submitted, at: now, origin)
    call(taken, .success(permit))
  }

  package func refused(_ error: DispatchError) { end(with: error) }
  package func admitted() {}
  package func waited(_ times: WaitTimes) {}
  package func stopped() {}

  package func paused(_ reason: WaitReason, failsWaitingRequests: Bool) {
    let (deadline, isWaiting) = state.withLock { ($0.deadline, $0.completion != nil && $0.leases == nil) }
    guard isWaiting else { return }
    if failsWaitingRequests {
      end(with: DispatchError(reason.codeOfEnd, waitReason: reason))
    } else if let deadline, let until = reason.until, until >= deadline {
      end(with: DispatchError(.pausedUntil, waitReason: reason))
    }
  }

  // Ends a waiting request. The holder of a bare permit decides itself when its work ends.
  package func asked(toEndBecause code: DispatchError.Code) { end(with: code) }

  /// Receives the reservation of a socket. Keeps no connections.
  private final class Holder: SocketHolder {
    private let request: PermitRequest

    init(_ request: PermitRequest) { self.request = request }

    func socketIsReserved(_ route: SocketRoute) { request.gate.handover.perform { [request] in request.leaseSocket() } }
    func checkIdleConnections() {}
  }
}
