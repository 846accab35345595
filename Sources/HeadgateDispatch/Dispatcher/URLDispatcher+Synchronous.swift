import HeadgateThreads

extension URLDispatcher {
  /// Sends a request, blocks the calling thread until it has ended, and returns the complete response. The blocking
  /// form of ``data(for:lane:policy:)``; corresponds to the classic `dispatchSynchronousRequest`.
  ///
  /// The request waits in the same queue as all others, in the order of arrival. If the queue is full, the overflow
  /// policy `wait` lets it keep its place.
  ///
  /// - Parameters:
  ///   - request: The request, or the URL to fetch. Its `maxBodyBytes` bounds the body.
  ///   - lane: `long` for a request that stays open.
  ///   - policy: What happens to a long request when the long lane is full: `enqueue` waits for a place, the other
  ///     policies throw at once. Ignored for a short request.
  /// - Returns: The response, whatever its status. Redirects are followed.
  /// - Throws: `DispatchError`: `wouldBlock` inside a task, on a thread that serves others (a transport's, a
  ///   timer's), and in every callback of this dispatcher, because the response might need that callback to return
  ///   first; `cancelled` if the calling `ManagedThread` is cancelled; the rest as for ``data(for:lane:policy:)``.
  @available(*, noasync)
  public func dispatchSynchronously(
    _ request: some RequestConvertible, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) throws(DispatchError) -> DispatchResponse {
    let request = try request.makeRequest()
    try gate.checkMayBlock(for: request.endPoint)
    let waiter = Waiter.ofThread()
    let result = LockedBox<Result<DispatchResponse, DispatchError>?>(nil)
    let operation = makeGathering(request, lane) { response in
      result.withLock { $0 = response }
      waiter.end(.woken)
    }
    operation.submit(patience: policy.patience(in: lane), mayBeHeld: true)
    guard waiter.wait(until: .distantFuture) == .woken, let response = result.withLock({ $0 }) else {
      operation.cancel()
      // Another thread may be in the middle of delivering the end. A cancelled caller does not wait for that.
      let verdict = operation.state.withLock { $0.verdict }
      throw verdict ?? DispatchError(.cancelled, phase: .receiving, endPoint: request.endPoint)
    }
    return try response.get()
  }
}
