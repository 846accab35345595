import HeadgateThreads

extension EndPointGate {
  /// Runs `body` on the calling thread while holding a permit of the end-point, and gives it back when `body` has returned
  /// or thrown. Blocks the thread while no permit is free.
  ///
  ///     let rows = try gate.withPermit(for: database, until: .after(.seconds(5))) { try query() }
  ///
  /// - Parameters:
  ///   - endPoint: Whose permit.
  ///   - lane: By which lane: `long` for work that stays open.
  ///   - priority: How soon, among those that wait for the same.
  ///   - scopes: What the work belongs to beside its end-point: see ``GateLimits/scopes``.
  ///   - weights: What it is expected to weigh, by the names of budgets: see ``Permit/settle(_:)``.
  ///   - deadline: Until when it may wait, as in all of Headgate's blocking calls; the work itself has no limit. One that has
  ///     passed ends it at once, `distantFuture` never.
  ///   - file: Where the permit is asked for, for the warning about one that leaks.
  ///   - line: The same.
  ///   - body: The work.
  /// - Throws: ``DispatchError``: `wouldBlock` inside a task, on a thread that serves others (a transport's, a timer's) and in
  ///   every callback of this gate and its dispatchers; `cancelled` when the calling `ManagedThread` is cancelled while it
  ///   waits; `deadlineExceeded`, `refused` when too many wait, `shutDown`; and whatever `body` throws.
  @available(*, noasync)
  public func withPermit<Value>(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal,
    scopes: [RequestScope] = [], weights: [String: Int] = [:], until deadline: Deadline, file: String = #fileID,
    line: UInt = #line, _ body: () throws -> Value
  ) throws -> Value {
    let permit = try permit(
      for: endPoint, lane: lane, priority: priority, scopes: scopes, weights: weights, until: deadline, file: file,
      line: line)
    defer { permit.release() }
    return try body()
  }

  /// Blocks the calling thread until a permit of the end-point is free, and returns it. Release it once the work is done.
  ///
  /// - Throws: As the blocking `withPermit`.
  @available(*, noasync)
  public func permit(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal,
    scopes: [RequestScope] = [], weights: [String: Int] = [:], until deadline: Deadline, file: String = #fileID,
    line: UInt = #line
  ) throws(DispatchError) -> Permit {
    try checkMayBlock(for: endPoint)
    let began = timers.now
    let waiter = Waiter.ofThread()
    let result = LockedBox<Result<Permit, DispatchError>?>(nil)
    let request = PermitRequest(
      self, endPoint, priority, StartNeeds.of(scopes, weights), CallSite(file: file, line: line)
    ) {
      end in
      result.withLock { $0 = end }
      // Granted to a thread that was cancelled at this moment: nobody else would give it back.
      if !waiter.end(.woken), case .success(let permit) = end { permit.release() }
    }
    request.submit(lane, deadline: deadline == .distantFuture ? nil : deadline - began, mayBeHeld: true)
    if waiter.wait(until: .distantFuture) != .woken {
      request.cancel()
      throw DispatchError(.cancelled, endPoint: endPoint, waited: timers.now - began)
    }
    guard let end = result.withLock({ $0 }) else { throw DispatchError(.cancelled, endPoint: endPoint) }
    return try end.get()
  }

  /// Refuses where a thread must not block: what it waits for might need it.
  func checkMayBlock(for endPoint: EndPoint) throws(DispatchError) {
    guard !WorkerThread.mustNotBlock, !DeliveryFrame.isInside(ObjectIdentifier(self)) else {
      throw DispatchError(.wouldBlock, endPoint: endPoint)
    }
  }
}
