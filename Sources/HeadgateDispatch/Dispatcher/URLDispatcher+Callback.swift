import HeadgateThreads

/// Receives a complete response or an error, once. See `URLDispatcher.dispatch(_:lane:policy:completion:)` for when it is
/// called, and on which thread.
public typealias ResponseCompletion = @Sendable (Result<DispatchResponse, DispatchError>) -> Void

/// Receives the result of a download, once, on a file thread.
public typealias FileCompletion = @Sendable (Result<FileResponse, DispatchError>) -> Void

extension URLDispatcher {
  /// Sends a request and returns at once. `completion` is called once with the complete response or an error.
  ///
  /// The completion runs with no lock held, on the thread that causes the end: the transport's thread for a response,
  /// where it delays every other exchange; the thread of time limits for a time limit, where it delays those of other
  /// requests; the caller's thread, inside the call, for a cancellation or a refusal. It must return soon. It may submit
  /// and cancel requests. If the queue is full, the completion gets the error `refused` inside this call (later if there
  /// are interceptors), also under the overflow policy `wait`. Under `dropOldest` and `dropLowest` another request may
  /// give way. `dispatch(enqueuing:completion:)` waits for a place instead.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - lane: `long` for a request that stays open. Its `timeout` ends with the response's head.
  ///   - policy: What happens to a long request when the long lane is full: `enqueue` waits for a place; under the other
  ///     policies the completion gets the error `longLaneFull`. Ignored for a short request.
  ///   - completion: Receives the result.
  @discardableResult
  public func dispatch(
    _ request: DispatchRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue,
    completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation {
    submit(makeGathering(request, lane, completion), policy.patience(in: lane))
  }

  /// The same for a URL.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`. Then the completion is not called.
  @discardableResult
  public func dispatch(
    _ url: some RequestConvertible, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue,
    completion: @escaping ResponseCompletion
  ) throws(DispatchError) -> URLDispatchOperation {
    dispatch(try url.makeRequest(), lane: lane, policy: policy, completion: completion)
  }

  /// Sends a request, writes the response's body to a file, and returns at once. `completion` is called once, on a file
  /// thread, even for a refusal.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - destination: Where the body goes, see ``download(for:to:checksum:lane:policy:onProgress:)``.
  ///   - lane: As for `dispatch(_:lane:policy:completion:)`, like `policy`.
  ///   - policy: What happens to a long request when the long lane is full.
  ///   - onProgress: Receives the progress; see ``TransferProgress``.
  ///   - completion: Receives the result.
  @discardableResult
  public func dispatch(
    _ request: DispatchRequest, to destination: FileDestination, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) -> URLDispatchOperation {
    submit(
      makeDownload(request, FileOrder(destination, request), lane, onProgress, completion), policy.patience(in: lane))
  }

  /// The same for a URL.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`. Then the completion is not called.
  @discardableResult
  public func dispatch(
    _ url: some RequestConvertible, to destination: FileDestination, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) throws(DispatchError) -> URLDispatchOperation {
    dispatch(
      try url.makeRequest(), to: destination, lane: lane, policy: policy, onProgress: onProgress,
      completion: completion)
  }

  private func submit(_ operation: DispatchOperation, _ patience: Patience) -> URLDispatchOperation {
    operation.submit(patience: patience, mayBeHeld: false)
    return URLDispatchOperation(operation: operation)
  }

  // MARK: Waiting for a place in the queue

  /// Sends a short request and returns once it has a place in the queue. If the queue is full, the overflow policy
  /// `wait` suspends the task, so that a program reads its list no faster than the requests are processed.
  ///
  /// Cancelling the task meanwhile cancels the request, whose completion then gets `cancelled`. Otherwise like
  /// `dispatch(_:lane:policy:completion:)`.
  @discardableResult
  public func dispatch(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) async -> URLDispatchOperation {
    await enqueue(makeGathering(request, .short, isEnqueued: true, completion))
  }

  /// The blocking form of `dispatch(enqueuing:completion:)`, for threads: blocks while the queue is full.
  ///
  /// - Throws: `DispatchError` with `wouldBlock` inside a task or a completion, which must never block.
  @available(*, noasync)
  @discardableResult
  public func dispatch(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) throws(DispatchError) -> URLDispatchOperation {
    try gate.checkMayBlock(for: request.endPoint)
    let operation = makeGathering(request, .short, isEnqueued: true, completion)
    operation.submit(patience: .waits, mayBeHeld: true)
    operation.acceptance?.wait()
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a short request, writes the response's body to a file, and returns once the request has a place in the
  /// queue. See `dispatch(enqueuing:completion:)` and `dispatch(_:to:lane:policy:onProgress:completion:)`.
  @discardableResult
  public func dispatch(
    enqueuing request: DispatchRequest, to destination: FileDestination, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) async -> URLDispatchOperation {
    await enqueue(
      makeDownload(
        request, await FileOrder.looking(for: destination, request), .short, onProgress, isEnqueued: true, completion))
  }

  private func enqueue(_ operation: DispatchOperation) async -> URLDispatchOperation {
    await withTaskCancellationHandler {
      operation.submit(patience: .waits, mayBeHeld: true)
      await operation.acceptance?.wait()
    } onCancel: {
      operation.cancel()
    }
    return URLDispatchOperation(operation: operation)
  }
}
