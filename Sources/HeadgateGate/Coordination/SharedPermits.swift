import HeadgateThreads

/// The coordinator's permits of one gate, by the ticket of the request that waits for one or holds one.
///
/// A request starts when both have agreed: the gate first, which decides whose turn it is, then the coordinator. Both
/// permits are returned together. So everything that passes the gate keeps the shared limit: requests and bare permits.
final class SharedPermits: Sendable {
  private enum Entry {
    /// The coordinator is being asked.
    case asked(Wait)
    case waiting(Wait, any SharedPermitRequest)
    case held(any SharedPermit)

    /// Where the request waits, and since when. Nil if it holds its permit.
    var wait: Wait? {
      switch self {
      case .asked(let wait), .waiting(let wait, _): wait
      case .held: nil
      }
    }
  }

  private struct Wait {
    let endPoint: EndPoint
    let since: Deadline
  }

  let coordinator: any GateCoordinator
  private let entries = Locked<[Ticket: Entry]>([:])

  init(_ coordinator: any GateCoordinator) { self.coordinator = coordinator }

  /// Asks the coordinator. `completion` is called with no lock held, perhaps before this returns, and not at all after
  /// ``cancel(_:)``.
  ///
  /// - Parameters:
  ///   - now: The current time, from which on the request waits for the coordinator.
  ///   - completion: Receives nil once the permit is held, or the coordinator's refusal.
  func ask(
    for ticket: Ticket, _ demand: SharedDemand, at now: Deadline,
    completion: @escaping @Sendable (DispatchError?) -> Void
  ) {
    let wait = Wait(endPoint: demand.endPoint, since: now)
    entries.withLock { $0[ticket] = .asked(wait) }
    let request = coordinator.requestPermit(demand) { [self] result in
      if answered(ticket, result) { completion(result.failure) }
    }
    let isOver = entries.withLock { entries in
      guard case .asked? = entries[ticket] else { return entries[ticket] == nil }
      entries[ticket] = .waiting(wait, request)
      return false
    }
    // Cancelled before the request was known here. After an answer the call has no effect.
    if isOver { request.cancel() }
  }

  /// Returns false if the request was cancelled. A permit that comes too late is returned.
  private func answered(_ ticket: Ticket, _ result: Result<any SharedPermit, DispatchError>) -> Bool {
    // What it replaces is released after the lock.
    let last = entries.withLock { entries in
      let last = entries[ticket]
      if last?.wait != nil { entries[ticket] = result.success.map { .held($0) } }
      return last
    }
    let isWanted = last?.wait != nil
    if !isWanted { result.success?.release() }
    return isWanted
  }

  /// Ends a wait. Returns false if the request does not wait for a shared permit.
  func cancel(_ ticket: Ticket) -> Bool {
    let last = entries.withLock { entries in
      entries[ticket]?.wait == nil ? nil : entries.removeValue(forKey: ticket)
    }
    if case .waiting(_, let request)? = last { request.cancel() }
    return last != nil
  }

  /// Takes out the permit that a request holds, to be released by the caller.
  func take(_ ticket: Ticket) -> (any SharedPermit)? {
    entries.withLock { entries in
      guard case .held(let permit)? = entries[ticket] else { return nil }
      entries[ticket] = nil
      return permit
    }
  }

  /// Puts back a permit that was taken out.
  func keep(_ permit: any SharedPermit, for ticket: Ticket) { entries.withLock { $0[ticket] = .held(permit) } }

  /// The permit that a request holds.
  func permit(of ticket: Ticket) -> (any SharedPermit)? {
    if case .held(let permit)? = entries.withLock({ $0[ticket] }) { permit } else { nil }
  }

  /// Since when a request waits. Nil if it does not.
  func waitsSince(_ ticket: Ticket) -> Deadline? { entries.withLock { $0[ticket]?.wait?.since } }

  /// The number of requests that wait for shared permits, by end-point. O(n) in those that wait or hold one.
  var waiting: [EndPoint: Int] {
    entries.withLock { entries in
      entries.values.reduce(into: [:]) { counts, entry in
        if let wait = entry.wait { counts[wait.endPoint, default: 0] += 1 }
      }
    }
  }
}

extension Result {
  fileprivate var success: Success? { if case .success(let value) = self { value } else { nil } }
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
