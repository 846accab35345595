import HeadgateThreads

extension URLDispatcher {
  /// Sends a short request and returns at once; `completion` is called once with the whole response or an error.
  ///
  /// The completion runs with no lock held on the thread that brings the end about, and must return soon: a response
  /// comes on the transport's thread, where every other exchange waits behind it; a limit on time on the timer's; a
  /// cancel or a refusal inside the call that caused it. It may submit and cancel requests. When too many wait, it gets the error `refused`
  /// before this returns, whatever the overflow policy; `enqueue(_:completion:)` waits for a place instead.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, completion: @escaping @Sendable (Result<DispatchResponse, DispatchError>) -> Void
  ) -> URLDispatchOperation {
    let operation = makeOperation(request, .short, CollectingSink(cap: request.maxBodyBytes, completion))
    operation.submit(patience: .waits, mayBeHeld: false)
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a request, writes the response's body to a file, and returns at once; `completion` is called once, on a
  /// thread for files, refusals too. As ``dispatchShort(_:completion:)`` for the rest.
  @discardableResult
  public func dispatchDownload(
    _ request: DispatchRequest, to destination: FileDestination, lane: RequestLane = .short,
    completion: @escaping @Sendable (Result<FileResponse, DispatchError>) -> Void
  ) -> URLDispatchOperation {
    let operation = makeDownload(request, destination, lane, nil, completion)
    operation.submit(patience: .waits, mayBeHeld: false)
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a short request and returns once it has its place in the queue: under the overflow policy `wait` it suspends
  /// while too many wait, so that a program reads its list only as fast as it is worked off.
  ///
  /// Cancelling the task meanwhile cancels the request, whose completion then gets `cancelled`.
  @discardableResult
  public func enqueue(
    _ request: DispatchRequest, completion: @escaping @Sendable (Result<DispatchResponse, DispatchError>) -> Void
  ) async -> URLDispatchOperation {
    let acceptance = Acceptance()
    let sink = CollectingSink(cap: request.maxBodyBytes, acceptance: acceptance, completion)
    return await enqueue(makeOperation(request, .short, sink), acceptance)
  }

  /// The blocking form of `enqueue(_:completion:)`, for threads: blocks while too many wait.
  ///
  /// - Throws: ``DispatchError`` with `wouldBlock` when it is called inside a task or a completion, which must never
  ///   block.
  @available(*, noasync)
  @discardableResult
  public func enqueue(
    _ request: DispatchRequest, completion: @escaping @Sendable (Result<DispatchResponse, DispatchError>) -> Void
  ) throws(DispatchError) -> URLDispatchOperation {
    guard !WorkerThread.mustNotBlock, !DeliveryFrame.isInside(ObjectIdentifier(gate)) else {
      throw DispatchError(.wouldBlock, endPoint: request.endPoint)
    }
    let acceptance = Acceptance()
    let sink = CollectingSink(cap: request.maxBodyBytes, acceptance: acceptance, completion)
    let operation = makeOperation(request, .short, sink)
    operation.submit(patience: .waits, mayBeHeld: true)
    acceptance.waitBlocking()
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a request, writes the response's body to a file, and returns once it has its place in the queue. As
  /// `enqueue(_:completion:)` for the rest.
  @discardableResult
  public func enqueueDownload(
    _ request: DispatchRequest, to destination: FileDestination, lane: RequestLane = .short,
    completion: @escaping @Sendable (Result<FileResponse, DispatchError>) -> Void
  ) async -> URLDispatchOperation {
    let acceptance = Acceptance()
    return await enqueue(makeDownload(request, destination, lane, acceptance, completion), acceptance)
  }

  private func enqueue(_ operation: DispatchOperation, _ acceptance: Acceptance) async -> URLDispatchOperation {
    await withTaskCancellationHandler {
      operation.submit(patience: .waits, mayBeHeld: true)
      await acceptance.wait()
    } onCancel: {
      operation.cancel()
    }
    return URLDispatchOperation(operation: operation)
  }
}
