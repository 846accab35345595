import HeadgateThreads

extension URLDispatcher {
  /// Sends a request, blocks the calling thread until it has ended, and returns the whole response: the classic
  /// `dispatchSynchronousRequest`, and ``data(for:lane:policy:)-(DispatchRequest,_,_)`` for threads.
  ///
  /// It waits in the same queue as all others, in the order of coming. If too many wait and the overflow policy is
  /// `wait`, it keeps its place in the queue.
  ///
  /// - Parameters:
  ///   - request: What to send; its `maxBodyBytes` bounds the body.
  ///   - lane: `long` for what stays open: it goes by the long lane.
  ///   - policy: What becomes of a long request when its lane has no place: under `enqueue` it waits for one, otherwise
  ///     the call throws at once. A short one ignores it.
  /// - Returns: The response, whatever its status; redirects are followed.
  /// - Throws: ``DispatchError``: `wouldBlock` inside a task, on a thread that serves others (a transport's, a timer's) and
  ///   in every callback of this dispatcher, which the answer might need to return first; `cancelled` when the calling
  ///   `ManagedThread` is cancelled; the rest as ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  @available(*, noasync)
  public func dispatchSynchronously(
    _ request: DispatchRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) throws(DispatchError) -> DispatchResponse {
    try gate.checkMayBlock(for: request.endPoint)
    let waiter = Waiter.ofThread()
    let result = LockedBox<Result<DispatchResponse, DispatchError>?>(nil)
    let operation = makeGathering(request, lane) { response in
      result.withLock { $0 = response }
      waiter.end(.woken)
    }
    operation.submit(patience: policy.patience(in: lane), mayBeHeld: true)
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
