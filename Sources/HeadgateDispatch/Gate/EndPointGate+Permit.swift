import HeadgateThreads

extension EndPointGate {
  /// Runs `body` while holding a permit of the end-point, and gives it back when `body` has returned or thrown.
  ///
  /// Suspends while no permit is free. No thread waits.
  ///
  /// The permit counts as one socket of the end-point, for a connection of the work's own: idle connections of dispatchers
  /// on this gate are closed for it, and the call suspends until there is room. That time counts as waiting. Open one
  /// connection, and close it before `body` returns.
  ///
  /// - Parameters:
  ///   - endPoint: Whose permit.
  ///   - lane: By which lane: `long` for work that stays open.
  ///   - priority: How soon, among those that wait for the same.
  ///   - scopes: What the work belongs to beside its end-point: see ``GateLimits/scopes``.
  ///   - weights: What it is expected to weigh, by the names of budgets: see ``Permit/settle(_:)``.
  ///   - deadline: How long it may wait, from this call; the work itself has no limit. Nil: no limit. Zero or less ends it
  ///     at once.
  ///   - isolation: Where `body` runs: by default where the caller does.
  ///   - file: Where the permit is asked for, for the warning about one that leaks.
  ///   - line: The same.
  ///   - body: The work.
  /// - Throws: ``DispatchError`` with `cancelled` when the task is cancelled while it waits, `deadlineExceeded`,
  ///   `refused` when too many wait, `shutDown`; and whatever `body` throws.
  public func withPermit<Value: Sendable>(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal,
    scopes: [RequestScope] = [], weights: [String: Int] = [:], deadline: Duration? = nil,
    isolation: isolated (any Actor)? = #isolation, file: String = #fileID, line: UInt = #line,
    _ body: () async throws -> Value
  ) async throws -> Value {
    let permit = try await permit(
      for: endPoint, lane: lane, priority: priority, scopes: scopes, weights: weights, deadline: deadline, file: file,
      line: line)
    defer { permit.release() }
    return try await body()
  }

  /// Suspends until a permit of the end-point is free, and returns it. Release it once the work is done.
  ///
  /// - Throws: As ``withPermit(for:lane:priority:scopes:weights:deadline:isolation:file:line:_:)``.
  public func permit(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal,
    scopes: [RequestScope] = [], weights: [String: Int] = [:], deadline: Duration? = nil,
    file: String = #fileID, line: UInt = #line
  ) async throws(DispatchError) -> Permit {
    let reply = Reply<Permit>()
    let request = PermitRequest(
      self, endPoint, priority, StartNeeds.of(scopes, weights), CallSite(file: file, line: line), reply.put)
    await withTaskCancellationHandler {
      request.submit(lane, deadline: deadline, mayBeHeld: true)
      await reply.wait()
    } onCancel: {
      request.cancel()
    }
    return try reply.get()
  }

  /// Asks for a permit of the end-point and returns at once; `completion` is called once, with the permit or an error,
  /// on the thread that freed it, that gave the request up or whose
  /// call was refused. It must return soon.
  ///
  /// - Returns: The place in the queue, to be given up with ``PermitRequest/cancel()``.
  @discardableResult
  public func requestPermit(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal,
    scopes: [RequestScope] = [], weights: [String: Int] = [:], deadline: Duration? = nil,
    file: String = #fileID, line: UInt = #line,
    completion: @escaping @Sendable (Result<Permit, DispatchError>) -> Void
  ) -> PermitRequest {
    let request = PermitRequest(
      self, endPoint, priority, StartNeeds.of(scopes, weights), CallSite(file: file, line: line), completion)
    request.submit(lane, deadline: deadline, mayBeHeld: false)
    return request
  }
}
