import HeadgateThreads

extension URLDispatcher {
  /// Sends a short request and returns at once. The delegate receives its events.
  ///
  /// If the queue is full, the delegate gets the error `refused`, also under the overflow policy `wait`.
  ///
  /// - Parameters:
  ///   - request: What to send. It is sent unchanged, and the body is delivered as the server encoded it.
  ///     `maxBodyBytes` is ignored. Its `timeout` ends with the response's head, unless `timeoutEndsWithHead` is false.
  ///     `idleTimeout` is 60 s unless it is set.
  ///   - delegate: Receives the events. Held weakly.
  ///   - target: Where the delegate is called; nil for the dispatcher's own pool.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, delegate: any URLDispatchDelegate, on target: Delivery? = nil
  ) -> URLDispatchOperation {
    let sink = DelegateSink(delegate, target, usually: core.delegates)
    let operation = DispatchOperation(request, .short, core, sink)
    operation.submit(patience: .waits, mayBeHeld: false)
    sink.begin(operation)
    return URLDispatchOperation(operation: operation)
  }

  /// The same for a URL.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`. Then the delegate gets no calls.
  @discardableResult
  public func dispatchShort(
    _ url: some RequestConvertible, delegate: any URLDispatchDelegate, on target: Delivery? = nil
  ) throws(DispatchError) -> URLDispatchOperation {
    dispatchShort(try url.makeRequest(), delegate: delegate, on: target)
  }

  /// Sends a long request and returns at once. The delegate receives its events.
  ///
  /// - Parameters:
  ///   - request: As for `dispatchShort(_:delegate:on:)`. `timeout` ends with the response's head; after that
  ///     `idleTimeout` applies, if set.
  ///   - delegate: Receives the events. Held weakly.
  ///   - policy: What happens when the long lane is full.
  ///   - target: Where the delegate is called; nil for the dispatcher's own pool.
  /// - Throws: `DispatchError`: `invalidURL` if the text is not a valid URL. Under the policy `throw` only:
  ///   `longLaneFull`, `refused` if the queue is full, `shutDown`. If it throws, nothing was submitted, and the
  ///   delegate gets no calls.
  @discardableResult
  public func dispatchLong(
    _ request: some RequestConvertible, delegate: any URLDispatchDelegate, policy: LongRequestPolicy = .throw,
    on target: Delivery? = nil
  ) throws(DispatchError) -> URLDispatchOperation {
    let sink = DelegateSink(delegate, target, usually: core.delegates)
    let operation = DispatchOperation(try request.makeRequest(), .long, core, sink)
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

  /// Sends a long request if one is allowed now. Does `EndPointGate.isLongRequestAllowed(at:)` and
  /// `dispatchLong(_:delegate:policy:on:)` in one atomic step.
  ///
  /// - Parameters:
  ///   - request: As for `dispatchLong(_:delegate:policy:on:)`.
  ///   - delegate: Receives the events. Held weakly.
  ///   - target: Where the delegate is called; nil for the dispatcher's own pool.
  /// - Returns: The operation. Nil if it was not allowed; then nothing was submitted, and the delegate gets no calls.
  public func tryDispatchLong(
    _ request: DispatchRequest, delegate: any URLDispatchDelegate, on target: Delivery? = nil
  ) -> URLDispatchOperation? {
    try? dispatchLong(request, delegate: delegate, policy: .throw, on: target)
  }
}
