import HeadgateThreads

extension EndPointGate {
  /// Runs `body` on the calling thread while holding a permit of the end-point, which is released when `body` returns
  /// or throws. Blocks the thread while no permit is free.
  ///
  ///     let rows = try gate.withPermit(for: database, until: .after(.seconds(5))) { try query() }
  ///
  /// - Parameters:
  ///   - endPoint: The end-point.
  ///   - lane: The lane: `long` for work that stays open.
  ///   - priority: The place among waiting requests for the same end-point.
  ///   - scopes: The scopes that the work belongs to, besides its end-point. See ``GateLimits/scopes``.
  ///   - weights: The expected weights, by budget name. See ``Permit/settle(_:)``.
  ///   - deadline: The end of the wait, as in all of Headgate's blocking calls; the work itself has no time limit. A
  ///     deadline in the past ends the call at once; `distantFuture` never does.
  ///   - file: The caller's file, for the warning about a leaked permit.
  ///   - line: The caller's line.
  ///   - body: The work.
  /// - Throws: ``DispatchError``: `wouldBlock` inside a task, on a thread that serves others (a transport's, a timer's)
  ///   and in every callback of this gate and its dispatchers; `cancelled` if the calling `ManagedThread` is cancelled
  ///   while it waits; `deadlineExceeded`; `refused` if the queue is full; `shutDown`. Also any error that `body`
  ///   throws.
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

  /// Blocks the calling thread until a permit of the end-point is free, and returns it. Release it when the work is
  /// done.
  ///
  /// - Throws: Like the blocking `withPermit`.
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
      // Granted to a thread that was cancelled at this moment, so the permit must be released here.
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

  /// Throws where a thread must not block, because the awaited event might need that thread.
  package func checkMayBlock(for endPoint: EndPoint) throws(DispatchError) {
    // Inside a delivery, or a call on behalf of the gate, it must not wait for that gate.
    guard !WorkerThread.mustNotBlock, DeliveryFrame.find(ObjectIdentifier(self), marks: true) == nil else {
      throw DispatchError(.wouldBlock, endPoint: endPoint)
    }
  }
}
