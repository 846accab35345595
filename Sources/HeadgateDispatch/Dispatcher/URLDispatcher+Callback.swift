import HeadgateThreads

/// Receives a complete response or an error, once. See `URLDispatcher.dispatchShort(_:completion:)` for when it is
/// called, and on which thread.
public typealias ResponseCompletion = @Sendable (Result<DispatchResponse, DispatchError>) -> Void

/// Receives the result of a download, once, on a file thread.
public typealias FileCompletion = @Sendable (Result<FileResponse, DispatchError>) -> Void

extension URLDispatcher {
  /// Sends a short request and returns at once. `completion` is called once with the complete response or an error.
  ///
  /// The completion runs with no lock held, on the thread that causes the end: the transport's thread for a response,
  /// where it delays every other exchange; the timer's thread for a time limit; the caller's thread, inside the call,
  /// for a cancellation or a refusal. It must return soon. It may submit and cancel requests. If the queue is full, it
  /// gets the error `refused` before this method returns, whatever the overflow policy;
  /// `dispatchShort(enqueuing:completion:)` waits for a place instead.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation {
    submit(makeGathering(request, .short, completion))
  }

  /// Sends a short request, writes the response's body to a file, and returns at once. `completion` is called once, on
  /// a file thread, even for a refusal.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - destination: Where the body goes, see ``download(for:to:lane:policy:onProgress:)``.
  ///   - onProgress: Receives the progress; see ``TransferProgress``.
  ///   - completion: Receives the result.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, to destination: FileDestination, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) -> URLDispatchOperation {
    submit(makeDownload(request, destination, .short, onProgress, completion))
  }

  /// Sends a long request and returns at once. `completion` is called once with the complete response or an error, as
  /// for a short request.
  ///
  /// - Parameters:
  ///   - request: What to send. Its `timeout` ends with the response's head.
  ///   - policy: What happens when the long lane is full. This method never throws: under `throw`, as under `fail`,
  ///     the completion gets the error.
  ///   - completion: Receives the result.
  @discardableResult
  public func dispatchLong(
    _ request: DispatchRequest, policy: LongRequestPolicy = .fail, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation {
    submit(makeGathering(request, .long, completion), policy.patience)
  }

  /// Sends a long request, writes the response's body to a file, and returns at once. `completion` is called once, on a
  /// file thread, even for a refusal.
  ///
  /// - Parameters:
  ///   - request: What to send. Its `timeout` ends with the response's head.
  ///   - destination: Where the body goes, see ``download(for:to:lane:policy:onProgress:)``.
  ///   - policy: What happens when the long lane is full, as for the form without a file.
  ///   - onProgress: Receives the progress; see ``TransferProgress``.
  ///   - completion: Receives the result.
  @discardableResult
  public func dispatchLong(
    _ request: DispatchRequest, to destination: FileDestination, policy: LongRequestPolicy = .fail,
    onProgress: TransferProgress.Listener? = nil, completion: @escaping FileCompletion
  ) -> URLDispatchOperation {
    submit(makeDownload(request, destination, .long, onProgress, completion), policy.patience)
  }

  private func submit(
    _ operation: DispatchOperation, _ patience: Scheduler<any GateClient>.Patience = .waits
  ) -> URLDispatchOperation {
    operation.submit(patience: patience, mayBeHeld: false)
    return URLDispatchOperation(operation: operation)
  }

  // MARK: Waiting for a place in the queue

  /// Sends a short request and returns once it has a place in the queue. If the queue is full, the overflow policy
  /// `wait` suspends the task, so that a program reads its list no faster than the requests are processed.
  ///
  /// Cancelling the task meanwhile cancels the request, whose completion then gets `cancelled`. Otherwise like
  /// `dispatchShort(_:completion:)`.
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) async -> URLDispatchOperation {
    await enqueue(makeGathering(request, .short, isEnqueued: true, completion))
  }

  /// The blocking form of `dispatchShort(enqueuing:completion:)`, for threads: blocks while the queue is full.
  ///
  /// - Throws: `DispatchError` with `wouldBlock` inside a task or a completion, which must never block.
  @available(*, noasync)
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) throws(DispatchError) -> URLDispatchOperation {
    try gate.checkMayBlock(for: request.endPoint)
    let operation = makeGathering(request, .short, isEnqueued: true, completion)
    operation.submit(patience: .waits, mayBeHeld: true)
    operation.acceptance?.wait()
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a short request, writes the response's body to a file, and returns once the request has a place in the
  /// queue. See `dispatchShort(enqueuing:completion:)` and `dispatchShort(_:to:onProgress:completion:)`.
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, to destination: FileDestination, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) async -> URLDispatchOperation {
    await dispatchShort(
      enqueuing: request, to: destination, storing: nil, checking: nil, onProgress: onProgress, completion: completion)
  }

  /// The same, but decides which responses are stored, and checks the complete body before its file gets its name.
  @discardableResult
  package func dispatchShort(
    enqueuing request: DispatchRequest, to destination: FileDestination, storing wish: FileWish?,
    checking check: FileCheck?, onProgress: TransferProgress.Listener?, completion: @escaping FileCompletion
  ) async -> URLDispatchOperation {
    await enqueue(
      makeDownload(
        request, destination, .short, onProgress, storing: wish, checking: check, isEnqueued: true, completion))
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
