extension URLDispatcher {
  /// Sends a short request and returns at once; the delegate hears of it as it goes on.
  ///
  /// When too many wait, the delegate hears of the error `refused`, whatever the overflow policy.
  ///
  /// - Parameters:
  ///   - request: What to send. It is sent as it is, and the body comes as the server encoded it; `maxBodyBytes` does not
  ///     count. Its `timeout` counts the time that the delegate takes.
  ///   - delegate: Who hears of it; held weakly.
  ///   - target: Where the delegate is called.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, delegate: any URLDispatchDelegate, on target: DelegateTarget = .ownPool
  ) -> URLDispatchOperation {
    let (operation, sink) = makeOperation(request, .short, delegate, target)
    operation.submit(patience: .waits, mayBeHeld: false)
    sink.begin(operation)
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a long request, one that stays open, and returns at once; the delegate hears of it as it goes on.
  ///
  /// - Parameters:
  ///   - request: As for `dispatchShort(_:delegate:on:)`; `timeout` ends with the response's head, and after it
  ///     `idleTimeout` holds, if there is one.
  ///   - delegate: Who hears of it; held weakly.
  ///   - policy: What happens when the long lane has no place for it.
  ///   - target: Where the delegate is called.
  /// - Throws: ``DispatchError`` under the policy `throw` only: `longLaneFull`, `refused` when too many wait, `shutDown`.
  ///   Nothing was submitted then, and the delegate hears nothing.
  @discardableResult
  public func dispatchLong(
    _ request: DispatchRequest, delegate: any URLDispatchDelegate, policy: LongRequestPolicy = .throw,
    on target: DelegateTarget = .ownPool
  ) throws(DispatchError) -> URLDispatchOperation {
    let (operation, sink) = makeOperation(request, .long, delegate, target)
    if let refusal = operation.offer(patience: policy.patience, mayBeHeld: false) {
      operation.fail(refusal)
      if policy == .throw {
        sink.discard()
        throw refusal
      }
    }
    sink.begin(operation)
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a long request if one is allowed now: ``isLongRequestAllowed(for:)-(DispatchRequest)`` and
  /// `dispatchLong(_:delegate:policy:on:)` in one step, between which nobody else comes.
  ///
  /// - Parameters:
  ///   - request: As for `dispatchLong(_:delegate:policy:on:)`.
  ///   - delegate: Who hears of it; held weakly.
  ///   - target: Where the delegate is called.
  /// - Returns: The operation; nil if it was not allowed, and then nothing was submitted and the delegate hears nothing.
  public func tryDispatchLong(
    _ request: DispatchRequest, delegate: any URLDispatchDelegate, on target: DelegateTarget = .ownPool
  ) -> URLDispatchOperation? {
    try? dispatchLong(request, delegate: delegate, policy: .throw, on: target)
  }

  private func makeOperation(
    _ request: DispatchRequest, _ lane: RequestLane, _ delegate: any URLDispatchDelegate,
    _ target: DelegateTarget
  ) -> (DispatchOperation, DelegateSink) {
    let sink = DelegateSink(delegate, target, core.delegates)
    return (makeOperation(request, lane, sink), sink)
  }
}
