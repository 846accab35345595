import HeadgateThreads

extension EndPointGate {
  /// Runs `body` while holding a permit of the end-point, which is released when `body` returns or throws.
  ///
  /// Suspends while no permit is free. No thread blocks.
  ///
  /// The permit counts as one socket of the end-point, for a connection that the work opens itself. Idle connections of
  /// dispatchers on this gate are closed to make room for it, and the call suspends until there is room. That time
  /// counts as waiting. Open one connection only, and close it before `body` returns.
  ///
  /// - Parameters:
  ///   - endPoint: The end-point.
  ///   - lane: The lane: `long` for work that stays open.
  ///   - priority: The place among waiting requests for the same end-point.
  ///   - scopes: The scopes that the work belongs to, besides its end-point. See ``GateLimits/scopes``.
  ///   - weights: The expected weights, by budget name. See ``Permit/settle(_:)``.
  ///   - deadline: The maximum time to wait, from this call; the work itself has no time limit. Nil: no limit. Zero or
  ///     less ends the call at once.
  ///   - isolation: The actor that `body` runs on; the caller's by default.
  ///   - file: The caller's file, for the warning about a leaked permit.
  ///   - line: The caller's line.
  ///   - body: The work.
  /// - Throws: ``DispatchError``: `cancelled` if the task is cancelled while it waits; `deadlineExceeded`; `refused` if
  ///   the queue is full; `shutDown`. Also any error that `body` throws.
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

  /// Suspends until a permit of the end-point is free, and returns it. Release it when the work is done.
  ///
  /// - Throws: Like ``withPermit(for:lane:priority:scopes:weights:deadline:isolation:file:line:_:)``.
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

  /// Takes a permit of the end-point if one is free now and nothing waits for it. O(1), like the release.
  ///
  /// - Returns: The permit, to be released. Nil if the call would have to wait: for a limit, a rate, a pause, a socket that an
  ///   idle connection holds, or an answer of the coordinator; or if the gate is closed. Nothing is left behind then.
  public func tryPermit(
    for endPoint: EndPoint, lane: RequestLane = .short, scopes: [RequestScope] = [], weights: [String: Int] = [:],
    file: String = #fileID, line: UInt = #line
  ) -> Permit? {
    // The first value counts: a permit, or nil because the call is over.
    let result = OneShot<Permit?>()
    let request = PermitRequest(
      self, endPoint, .normal, StartNeeds.of(scopes, weights), CallSite(file: file, line: line)
    ) { end in
      if case .success(let permit) = end, !result.set(permit) { permit.release() }
    }
    request.submit(lane, patience: .none, deadline: nil, mayBeHeld: false)
    result.set(nil)
    let permit = result.value ?? nil
    if permit == nil { request.cancel() }
    return permit
  }

  /// Requests a permit of the end-point and returns at once. `completion` is called once, with the permit or an error,
  /// on the thread that freed the permit, that ended the request, or that made this call if it was refused. It must
  /// return soon.
  ///
  /// - Returns: The place in the queue. ``PermitRequest/cancel()`` gives it up, and ``PermitRequest/priority`` moves it.
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
