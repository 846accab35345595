import HeadgateThreads

/// Someone who waits for a bare permit. Ends once: with the permit or an error.
public final class PermitRequest: GateClient, Sendable {
  typealias Completion = @Sendable (Result<Permit, DispatchError>) -> Void

  private struct State {
    var completion: Completion?
    var ticket: Ticket?
    var timer: ScheduledTimer?
  }

  private let gate: EndPointGate
  private let endPoint: EndPoint
  private let submitted: Deadline
  private let origin: CallSite
  private let priority: RequestPriority
  private let state: Locked<State>

  init(
    _ gate: EndPointGate, _ endPoint: EndPoint, _ priority: RequestPriority, _ origin: CallSite,
    _ completion: @escaping Completion
  ) {
    self.priority = priority
    self.gate = gate
    self.endPoint = endPoint
    self.origin = origin
    self.submitted = gate.timers.now
    self.state = Locked(State(completion: completion))
  }

  /// Gives the place in the queue up: the completion gets the error `cancelled`. Too late once the permit is granted.
  public func cancel() { end(with: .cancelled) }

  func submit(_ lane: RequestLane, deadline: Duration?, mayBeHeld: Bool) {
    if let deadline {
      guard deadline > .zero else { return end(with: .deadlineExceeded) }
      let timer = gate.timers.schedule(at: submitted + deadline) { [self] in end(with: .deadlineExceeded) }
      keep(timer)
    }
    switch gate.submit(
      self, to: endPoint, lane, priority: priority, patience: .waits, mayBeHeld: mayBeHeld, at: submitted)
    {
    case .started: break
    case .accepted(let ticket), .held(let ticket):
      // It may have been cancelled before the ticket was known here: then it is withdrawn now.
      let isOver = state.withLock { state in
        state.ticket = ticket
        return state.completion == nil
      }
      if isOver { _ = gate.withdraw(ticket) }
    case .refused(let refusal): end(with: refusal.code)
    }
  }

  private func keep(_ timer: ScheduledTimer) {
    let isOver = state.withLock { state in
      if state.completion != nil { state.timer = timer }
      return state.completion == nil
    }
    if isOver { timer.cancel() }
  }

  private func end(with code: DispatchError.Code) {
    guard let (completion, ticket) = takeCompletion() else { return }
    if let ticket { _ = gate.withdraw(ticket) }
    let error = DispatchError(code, endPoint: endPoint, waited: gate.timers.now - submitted)
    DeliveryFrame.mark(ObjectIdentifier(gate)) { completion(.failure(error)) }
  }

  /// Whoever gets the completion decides how this ends.
  private func takeCompletion() -> (Completion, Ticket?)? {
    let (completion, ticket, timer) = state.withLock { state in
      defer {
        state.completion = nil
        state.timer = nil
      }
      return (state.completion, state.ticket, state.timer)
    }
    timer?.cancel()
    return completion.map { ($0, ticket) }
  }

  // MARK: GateClient

  package func granted(_ ticket: Ticket, maxSockets: Int, at moment: Deadline?) {
    guard let (completion, _) = takeCompletion() else {
      // Cancelled between the decision and here.
      return gate.finish(ticket)
    }
    let permit = Permit(gate, ticket, endPoint, waited: gate.timers.now - submitted, origin)
    DeliveryFrame.mark(ObjectIdentifier(gate)) { completion(.success(permit)) }
  }

  package func admitted() {}
  package func turnedAway(_ code: DispatchError.Code) { end(with: code) }

  // One that waits ends; whoever holds a bare permit decides itself when its work does.
  package func asked(toEndBecause error: DispatchError) { end(with: error.code) }
}
