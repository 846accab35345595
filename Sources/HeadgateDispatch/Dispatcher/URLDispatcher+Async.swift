import HTTPTypes
import HeadgateThreads

extension URLDispatcher {
  /// An executor that runs tasks on the transport's own thread, between iterations of its loop. For work that never
  /// blocks.
  ///
  /// A task that prefers this executor resumes on the thread that received its response, without waking another
  /// thread. The throughput of `async` code comes close to that of callbacks.
  ///
  ///     await withTaskExecutorPreference(dispatcher.taskExecutor) {
  ///       await withTaskGroup(of: Int?.self) { group in
  ///         for url in urls { group.addTask { try? await dispatcher.data(for: url).statusCode } }
  ///         …
  ///       }
  ///     }
  ///
  /// While such a task computes or blocks, every exchange of the transport waits. Move work that takes longer than
  /// about ten microseconds elsewhere: with `withTaskExecutorPreference(globalConcurrentExecutor)`, or to an actor
  /// with its own executor. This library's blocking calls throw there, as in every task.
  ///
  /// Jobs that tasks enqueue for each other do not starve the transport: after a number of jobs it polls its sockets.
  /// Jobs run in the order of their arrival, whatever their priority. After the transport has ended they run on the
  /// global executor.
  ///
  /// Nil for transports without one: all except `CurlTransport`. A preference of nil has no effect.
  public var taskExecutor: (any TaskExecutor)? { core.transport.taskExecutor }

  /// Sends a request and collects the response in memory.
  ///
  /// Suspends the task while the request waits and runs; no thread blocks. Cancelling the task takes effect at once.
  /// If the queue is full, the overflow policy `wait` lets the request keep its place.
  ///
  /// - Parameters:
  ///   - request: The request, or the URL to fetch. Its `maxBodyBytes` bounds the body.
  ///   - lane: `long` for a request that stays open.
  ///   - policy: What happens to a long request when the long lane is full: `enqueue` waits for a place, the other
  ///     policies throw at once. Ignored for a short request.
  /// - Returns: The response, whatever its status. Redirects are followed.
  /// - Throws: `DispatchError`: `invalidURL` if the text is not a valid URL; `timedOut`, `deadlineExceeded`,
  ///   `cancelled`, `refused`; `bodyTooLarge` beyond `maxBodyBytes`; `longLaneFull` (see `policy`); and network
  ///   errors.
  public nonisolated(nonsending) func data(
    for request: some RequestConvertible, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> DispatchResponse {
    let reply = Reply<DispatchResponse>()
    return try await makeGathering(request.makeRequest(), lane, reply.put).result(reply, policy.patience(in: lane))
  }

  /// Sends a request and returns when the response's head has arrived. The body is read piece by piece.
  ///
  /// The permit is held until the body has ended or is released. `timeout` ends with the response's head, unless
  /// ``DispatchRequest/timeoutEndsWithHead`` is false.
  ///
  /// - Parameters:
  ///   - request: The request, or the URL to fetch. It is sent unchanged, and the body is delivered as the server
  ///     encoded it.
  ///   - lane: `long` for a request that stays open.
  ///   - policy: What happens to a long request when the long lane is full: `enqueue` waits for a place, the other
  ///     policies throw at once. Ignored for a short request.
  /// - Throws: `DispatchError`, as for ``data(for:lane:policy:)``; for a long request also `longLaneFull`, see
  ///   `policy`.
  public nonisolated(nonsending) func stream(
    for request: some RequestConvertible, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> StreamedResponse {
    let reply = Reply<StreamedResponse>()
    let operation = DispatchOperation(try request.makeRequest(), lane, core, StreamingSink(onHead: reply.put))
    return try await operation.result(reply, policy.patience(in: lane))
  }

  /// Sends a request and writes the response's body to a file.
  ///
  /// Data is written to a temporary file beside the destination, which gets its name when it is complete. A body with
  /// a status other than 200 to 299 is discarded, and so is a part of a body that was not requested.
  ///
  /// With a ``RetryPolicy``, a body that breaks off is continued with the next attempt, if the server names its version
  /// with a strong `ETag`; otherwise it begins anew. ``FileDestination/resuming(_:)`` continues it in later downloads too.
  ///
  /// - Parameters:
  ///   - request: The request, or the URL to fetch. It is sent unchanged, and the body is delivered as the server
  ///     encoded it.
  ///   - destination: Where the body goes.
  ///   - checksum: The checksum that the body must have, in place of the ``FileDestination/checksum``. Nil: that one.
  ///   - lane: `long` for a request that stays open.
  ///   - policy: What happens to a long request when the long lane is full, as for ``data(for:lane:policy:)``.
  ///   - onProgress: Receives progress after each hundredth of the total (but at least 64 KB and at most 1 MB), and
  ///     at the end. Called on a file thread, one call at a time, before this method returns. During a call only the
  ///     latest count is kept, so a slow listener delays only its own file. Discarded bodies are reported too.
  /// - Throws: `DispatchError`: `fileFailed` if the file can't be created or written; `badResponse` if the body has
  ///   another checksum; the rest as for ``data(for:lane:policy:)``.
  public nonisolated(nonsending) func download(
    for request: some RequestConvertible, to destination: FileDestination, checksum: Checksum? = nil,
    lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue, onProgress: TransferProgress.Listener? = nil
  ) async throws(DispatchError) -> FileResponse {
    var destination = destination
    if let checksum { destination.checksum = checksum }
    let request = try request.makeRequest()
    let order = await FileOrder.looking(for: destination, request)
    return try await download(request, order, lane: lane, policy: policy, onProgress: onProgress)
  }

  /// Sends a request and stores the response's body in a store.
  package nonisolated(nonsending) func download(
    _ request: DispatchRequest, _ order: sending FileOrder, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: TransferProgress.Listener? = nil
  ) async throws(DispatchError) -> FileResponse {
    let reply = Reply<FileResponse>()
    let operation = makeDownload(request, order, lane, onProgress, reply.put)
    return try await operation.result(reply, policy.patience(in: lane))
  }

  /// Sends a body and collects the response in memory.
  ///
  /// - Parameters:
  ///   - request: The request, or the URL. Its body is replaced, and the method `GET` becomes `PUT`.
  ///   - body: What to send: bytes, a file, or a sequence.
  ///   - lane: `long` for a request that stays open.
  ///   - policy: What happens to a long request when the long lane is full, as for ``data(for:lane:policy:)``.
  ///   - onProgress: Receives upload progress, in place of the request's own ``DispatchRequest/onUploadProgress``.
  /// - Throws: `DispatchError`: `bodyFailed` if the body can't be read; the rest as for ``data(for:lane:policy:)``.
  public nonisolated(nonsending) func upload(
    for request: some RequestConvertible, from body: RequestBody, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: TransferProgress.Listener? = nil
  ) async throws(DispatchError) -> DispatchResponse {
    var request = try request.makeRequest()
    if request.method == .get { request.method = .put }
    request.body = body
    if let onProgress { request.onUploadProgress = onProgress }
    return try await data(for: request, lane: lane, policy: policy)
  }

  func makeDownload(
    _ request: DispatchRequest, _ order: sending FileOrder, _ lane: RequestLane,
    _ onProgress: TransferProgress.Listener?, isEnqueued: Bool = false, _ completion: @escaping FileCompletion
  ) -> DispatchOperation {
    var request = request
    let sink = FileSink(&request, order, over: core.capabilities, onProgress: onProgress, completion)
    return DispatchOperation(request, lane, core, sink, isEnqueued: isEnqueued)
  }
}

extension DispatchOperation {
  /// Submits the operation and suspends until its result is available. Cancelling the task cancels the operation,
  /// possibly before the submission.
  nonisolated(nonsending) func result<Value: Sendable>(
    _ reply: Reply<Value>, _ patience: Patience
  ) async throws(DispatchError) -> Value {
    await withTaskCancellationHandler {
      submit(patience: patience, mayBeHeld: true)
      await reply.wait()
    } onCancel: {
      cancel()
    }
    return try reply.get()
  }
}
