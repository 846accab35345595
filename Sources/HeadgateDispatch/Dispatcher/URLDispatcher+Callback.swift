import HeadgateThreads

/// Called once with a whole response or an error; see `URLDispatcher.dispatchShort(_:completion:)` for where and when.
public typealias ResponseCompletion = @Sendable (Result<DispatchResponse, DispatchError>) -> Void

/// Called once with what became of a download, on a thread for files.
public typealias FileCompletion = @Sendable (Result<FileResponse, DispatchError>) -> Void

extension URLDispatcher {
  /// Sends a short request and returns at once; `completion` is called once with the whole response or an error.
  ///
  /// The completion runs with no lock held on the thread that brings the end about, and must return soon: a response
  /// comes on the transport's thread, where every other exchange waits behind it; a limit on time on the timer's; a
  /// cancel or a refusal inside the call that caused it. It may submit and cancel requests. When too many wait, it gets
  /// the error `refused` before this returns, whatever the overflow policy; `dispatchShort(enqueuing:completion:)` waits
  /// for a place instead.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation {
    submit(makeGathering(request, .short, nil, completion))
  }

  /// Sends a short request, writes the response's body to a file, and returns at once; `completion` is called once, on a
  /// thread for files, refusals too.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - destination: Where the body goes, as ``download(for:to:lane:policy:onProgress:)-(DispatchRequest,_,_,_,_)`` says.
  ///   - onProgress: Told how much has come; see ``DownloadProgress``.
  ///   - completion: Told of the end.
  @discardableResult
  public func dispatchShort(
    _ request: DispatchRequest, to destination: FileDestination, onProgress: DownloadProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) -> URLDispatchOperation {
    submit(makeDownload(request, destination, .short, onProgress, nil, completion))
  }

  /// Sends a long request and returns at once; `completion` is called once with the whole response or an error, as that of
  /// a short one.
  ///
  /// - Parameters:
  ///   - request: What to send; its `timeout` ends with the response's head.
  ///   - policy: What happens when the long lane has no place for it. This never throws: under `throw`, as under `fail`,
  ///     the completion gets the error.
  ///   - completion: Told of the end.
  @discardableResult
  public func dispatchLong(
    _ request: DispatchRequest, policy: LongRequestPolicy = .fail, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation {
    submit(makeGathering(request, .long, nil, completion), policy.patience)
  }

  /// Sends a long request, writes the response's body to a file, and returns at once; `completion` is called once, on a
  /// thread for files, refusals too.
  ///
  /// - Parameters:
  ///   - request: What to send; its `timeout` ends with the response's head.
  ///   - destination: Where the body goes, as ``download(for:to:lane:policy:onProgress:)-(DispatchRequest,_,_,_,_)`` says.
  ///   - policy: What happens when the long lane has no place for it, as for the form without a file.
  ///   - onProgress: Told how much has come; see ``DownloadProgress``.
  ///   - completion: Told of the end.
  @discardableResult
  public func dispatchLong(
    _ request: DispatchRequest, to destination: FileDestination, policy: LongRequestPolicy = .fail,
    onProgress: DownloadProgress.Listener? = nil, completion: @escaping FileCompletion
  ) -> URLDispatchOperation {
    submit(makeDownload(request, destination, .long, onProgress, nil, completion), policy.patience)
  }

  private func submit(
    _ operation: DispatchOperation, _ patience: Scheduler<any GateClient>.Patience = .waits
  ) -> URLDispatchOperation {
    operation.submit(patience: patience, mayBeHeld: false)
    return URLDispatchOperation(operation: operation)
  }

  // MARK: Only as fast as it is worked off

  /// Sends a short request and returns once it has its place in the queue: under the overflow policy `wait` it suspends
  /// while too many wait, so that a program reads its list only as fast as it is worked off.
  ///
  /// Cancelling the task meanwhile cancels the request, whose completion then gets `cancelled`. As
  /// `dispatchShort(_:completion:)` for the rest.
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) async -> URLDispatchOperation {
    let acceptance = Acceptance()
    return await enqueue(makeGathering(request, .short, acceptance, completion), acceptance)
  }

  /// The blocking form of `dispatchShort(enqueuing:completion:)`, for threads: blocks while too many wait.
  ///
  /// - Throws: ``DispatchError`` with `wouldBlock` when it is called inside a task or a completion, which must never
  ///   block.
  @available(*, noasync)
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, completion: @escaping ResponseCompletion
  ) throws(DispatchError) -> URLDispatchOperation {
    try gate.checkMayBlock(for: request.endPoint)
    let acceptance = Acceptance()
    let operation = makeGathering(request, .short, acceptance, completion)
    operation.submit(patience: .waits, mayBeHeld: true)
    acceptance.waitBlocking()
    return URLDispatchOperation(operation: operation)
  }

  /// Sends a short request, writes the response's body to a file, and returns once it has its place in the queue. As
  /// `dispatchShort(enqueuing:completion:)` and `dispatchShort(_:to:onProgress:completion:)` for the rest.
  @discardableResult
  public func dispatchShort(
    enqueuing request: DispatchRequest, to destination: FileDestination, onProgress: DownloadProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) async -> URLDispatchOperation {
    let acceptance = Acceptance()
    return await enqueue(makeDownload(request, destination, .short, onProgress, acceptance, completion), acceptance)
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
