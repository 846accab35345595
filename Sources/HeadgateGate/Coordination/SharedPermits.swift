import HeadgateThreads

/// The coordinator's permits of one gate, by the ticket of the request that waits for one or holds one.
///
/// A request starts when both have agreed: the gate first, which decides whose turn it is, then the coordinator. Both
/// permits are returned together. So everything that passes the gate keeps the shared limit: requests and bare permits.
final class SharedPermits: Sendable {
  private struct Wait {
    /// A ticket may wait again after a wait that was cancelled, whose answer may still be on its way.
    let number: UInt64
    let endPoint: EndPoint
    let client: any GateClient
    /// When the coordinator was asked.
    let since: Deadline
    /// Nil while the coordinator is being asked.
    var request: (any SharedPermitRequest)?
  }

  private enum Entry {
    case waiting(Wait)
    case held(any SharedPermit)

    /// Nil if it holds its permit.
    var wait: Wait? { if case .waiting(let wait) = self { wait } else { nil } }
  }

  private struct State {
    var entries: [Ticket: Entry] = [:]
    var lastNumber: UInt64 = 0
  }

  let coordinator: any GateCoordinator
  private let state = Locked(State())

  init(_ coordinator: any GateCoordinator) { self.coordinator = coordinator }

  /// Asks the coordinator. `completion` is called with no lock held, perhaps before this returns, and not at all after
  /// ``cancel(_:)``.
  ///
  /// - Parameters:
  ///   - now: The current time, from which on the request waits for the coordinator.
  ///   - completion: Receives nil once the permit is held, or the coordinator's refusal.
  func ask(
    for ticket: Ticket, _ client: any GateClient, _ demand: SharedDemand, at now: Deadline,
    completion: @escaping @Sendable (DispatchError?) -> Void
  ) {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.entries[ticket] = .waiting(
        Wait(number: state.lastNumber, endPoint: demand.endPoint, client: client, since: now))
      return state.lastNumber
    }
    let request = coordinator.requestPermit(demand) { [self] result in
      if answered(ticket, number, result) { completion(result.failure) }
    }
    let isOver = state.withLock { state in
      guard case .waiting(var wait)? = state.entries[ticket], wait.number == number else { return true }
      wait.request = request
      state.entries[ticket] = .waiting(wait)
      return false
    }
    // Cancelled before the request was known here. After an answer the call has no effect.
    if isOver { request.cancel() }
  }

  /// Returns false if the request was cancelled. A permit that comes too late is returned.
  private func answered(_ ticket: Ticket, _ number: UInt64, _ result: Result<any SharedPermit, DispatchError>) -> Bool {
    // What it replaces is released after the lock.
    let wait = state.withLock { state -> Wait? in
      guard let wait = state.entries[ticket]?.wait, wait.number == number else { return nil }
      state.entries[ticket] = result.success.map { .held($0) }
      return wait
    }
    if wait == nil { result.success?.decline() }
    return wait != nil
  }

  /// Ends a wait. Returns since when the request waited, or nil if it does not wait for a shared permit.
  func cancel(_ ticket: Ticket) -> Deadline? {
    let wait = state.withLock { state -> Wait? in
      guard let wait = state.entries[ticket]?.wait else { return nil }
      state.entries[ticket] = nil
      return wait
    }
    wait?.request?.cancel()
    return wait?.since
  }

  /// Takes out the permit that a request holds, to be released by the caller.
  func take(_ ticket: Ticket) -> (any SharedPermit)? {
    state.withLock { state in
      guard case .held(let permit)? = state.entries[ticket] else { return nil }
      state.entries[ticket] = nil
      return permit
    }
  }

  /// Puts back a permit that was taken out.
  func keep(_ permit: any SharedPermit, for ticket: Ticket) {
    state.withLock { $0.entries[ticket] = .held(permit) }
  }

  /// The permit that a request holds.
  func permit(of ticket: Ticket) -> (any SharedPermit)? {
    if case .held(let permit)? = state.withLock({ $0.entries[ticket] }) { permit } else { nil }
  }

  /// Since when a request waits. Nil if it does not.
  func waitsSince(_ ticket: Ticket) -> Deadline? { state.withLock { $0.entries[ticket]?.wait?.since } }

  /// The requests that wait for permits of an end-point. O(n) in those that wait or hold one.
  func waiting(at endPoint: EndPoint) -> [(ticket: Ticket, client: any GateClient)] {
    state.withLock { state in
      state.entries.compactMap { ticket, entry in
        entry.wait.flatMap { $0.endPoint == endPoint ? (ticket, $0.client) : nil }
      }
    }
  }

  /// The number of requests that wait for shared permits, by end-point. O(n) in those that wait or hold one.
  var waiting: [EndPoint: Int] {
    state.withLock { state in
      state.entries.values.reduce(into: [:]) { counts, entry in
        if let wait = entry.wait { counts[wait.endPoint, default: 0] += 1 }
      }
    }
  }
}

extension Result {
  fileprivate var success: Success? { if case .success(let value) = self { value } else { nil } }
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
