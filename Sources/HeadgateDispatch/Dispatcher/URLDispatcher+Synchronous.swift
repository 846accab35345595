import HeadgateThreads

extension URLDispatcher {
  /// Sends a request, blocks the calling thread until it has ended, and returns the whole response: the classic
  /// `dispatchSynchronousRequest`, and ``data(for:lane:)-(DispatchRequest,_)`` for threads.
  ///
  /// It waits in the same queue as all others, in the order of coming. If too many wait and the overflow policy is
  /// `wait`, it keeps its place in the queue.
  ///
  /// - Parameters:
  ///   - request: What to send; its `maxBodyBytes` bounds the body.
  ///   - lane: By which lane; a long one waits for a place there.
  /// - Returns: The response, whatever its status; redirects are followed.
  /// - Throws: ``DispatchError``: `wouldBlock` inside a task, on a thread that serves others (a transport's, a timer's) and
  ///   in every callback of this dispatcher, which the answer might need to return first; `cancelled` when the calling
  ///   `ManagedThread` is cancelled; the rest as ``data(for:lane:)-(DispatchRequest,_)``.
  @available(*, noasync)
  public func dispatchSynchronously(
    _ request: DispatchRequest, lane: RequestLane = .short
  ) throws(DispatchError) -> DispatchResponse {
    guard !WorkerThread.mustNotBlock, !DeliveryFrame.isInside(ObjectIdentifier(gate)) else {
      throw DispatchError(.wouldBlock, endPoint: request.endPoint)
    }
    let waiter = Waiter.ofThread()
    let result = LockedBox<Result<DispatchResponse, DispatchError>?>(nil)
    let sink = CollectingSink(cap: request.maxBodyBytes) { response in
      result.withLock { $0 = response }
      waiter.end(.woken)
    }
    let operation = makeOperation(request, lane, sink)
    operation.submit(patience: .waits, mayBeHeld: true)
    if waiter.wait(until: .distantFuture) != .woken {
      operation.cancel()
      // Its end may be told a moment from now, by a thread that is in the middle of it: who was cancelled need not wait.
      let verdict = operation.state.withLock { $0.verdict }
      throw verdict ?? DispatchError(.cancelled, phase: .receiving, endPoint: request.endPoint)
    }
    guard let response = result.withLock({ $0 }) else {
      throw DispatchError(.cancelled, phase: .receiving, endPoint: request.endPoint)
    }
    return try response.get()
  }
}
