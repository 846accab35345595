import HTTPTypes
import HeadgateThreads

extension URLDispatcher {
  /// Runs tasks on the transport's own thread, between its turns: for work that never blocks.
  ///
  /// A task that prefers it is resumed on the thread where its response came, and no other thread is woken for it: the rate
  /// of `async` code becomes nearly that of callbacks.
  ///
  ///     await withTaskExecutorPreference(dispatcher.taskExecutor) {
  ///       await withTaskGroup(of: Int?.self) { group in
  ///         for url in urls { group.addTask { try? await dispatcher.data(for: url).statusCode } }
  ///         …
  ///       }
  ///     }
  ///
  /// While such a task computes or blocks, every exchange of the transport waits. So take work that takes longer than some
  /// ten microseconds elsewhere: `withTaskExecutorPreference(globalConcurrentExecutor)`, or an actor with an executor of
  /// its own. This library's blocking calls are refused there, as in every task.
  ///
  /// What the tasks enqueue for each other does not delay the transport: after some jobs it looks at its sockets. Jobs run in
  /// the order in which they came, whatever their priority. After the transport's end they run on the global executor.
  ///
  /// Nil for transports that have none, which is all but `CurlTransport`: a preference of nil changes nothing.
  public var taskExecutor: (any TaskExecutor)? { core.transport.taskExecutor }

  /// Sends a request and gathers the response in memory.
  ///
  /// Suspends while it waits and runs; no thread does. Cancelling the task takes effect at once. If too many wait and
  /// the overflow policy is `wait`, it keeps its place in the queue.
  ///
  /// - Parameters:
  ///   - request: What to send; its `maxBodyBytes` bounds the body.
  ///   - lane: `long` for what stays open: it goes by the long lane.
  ///   - policy: What becomes of a long request when its lane has no place: under `enqueue` it waits for one, otherwise
  ///     the call throws at once. A short one ignores it.
  /// - Returns: The response, whatever its status; redirects are followed.
  /// - Throws: ``DispatchError``: `timedOut`, `deadlineExceeded`, `cancelled`, `refused`, `bodyTooLarge` beyond the
  ///   request's `maxBodyBytes`, `longLaneFull` (see `policy`), and what went wrong on the network.
  public nonisolated(nonsending) func data(
    for request: DispatchRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> DispatchResponse {
    let reply = Reply<Result<DispatchResponse, DispatchError>>()
    return try await result(of: makeGathering(request, lane, nil, reply.put), reply, policy.patience(in: lane))
  }

  /// Sends a request and returns when the response's head has come; the body is read piece by piece.
  ///
  /// The permit is held until the body has ended or is let go. A short request's `timeout` counts the time that its
  /// reader takes; a long one's ends at the head.
  ///
  /// - Parameters:
  ///   - request: What to send. It is sent as it is, and the body comes as the server encoded it.
  ///   - lane: `long` for what stays open: it goes by the long lane.
  ///   - policy: What becomes of a long request when its lane has no place: under `enqueue` it waits for one, otherwise
  ///     the call throws at once. A short one ignores it.
  /// - Throws: ``DispatchError``; for a long request also `longLaneFull`, see `policy`.
  public nonisolated(nonsending) func stream(
    for request: DispatchRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .throw
  ) async throws(DispatchError) -> StreamedResponse {
    let reply = Reply<Result<StreamedResponse, DispatchError>>()
    let opening = StreamOpening()
    let sink = StreamingSink { head in
      // Taken out here: the sink must not keep the body, whose end of life it waits for.
      let body = opening.takeBody()
      reply.put(
        head.flatMap { head in
          body.map { .success(StreamedResponse(head: head.head, url: head.url, body: $0)) }
            ?? .failure(DispatchError(.transportFailed, detail: "two heads came"))
        })
    }
    let operation = makeOperation(request, lane, sink)
    opening.body.withLock { $0 = StreamedBody(operation, sink) }
    return try await result(of: operation, reply, policy.patience(in: lane))
  }

  /// Sends a request and writes the response's body to a file.
  ///
  /// The file is written beside its place and gets its name when it is whole. Bodies with a status other than 200 to
  /// 299 are passed over.
  ///
  /// - Parameters:
  ///   - request: What to send. It is sent as it is, and the body comes as the server encoded it.
  ///   - destination: Where the body goes.
  ///   - lane: `long` for what stays open: it goes by the long lane.
  ///   - policy: What becomes of a long request when its lane has no place, as for ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  ///   - onProgress: Told how much has come; see ``DownloadProgress``.
  /// - Throws: ``DispatchError``: `fileFailed` when the file can't be made or written; the rest as
  ///   ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  public nonisolated(nonsending) func download(
    for request: DispatchRequest, to destination: FileDestination, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: DownloadProgress.Listener? = nil
  ) async throws(DispatchError) -> FileResponse {
    let reply = Reply<Result<FileResponse, DispatchError>>()
    let operation = makeDownload(request, destination, lane, onProgress, nil, reply.put)
    return try await result(of: operation, reply, policy.patience(in: lane))
  }

  /// Sends a body and gathers the response in memory.
  ///
  /// - Parameters:
  ///   - request: Where to and how. Its body is replaced, and its method by `PUT` if it is `GET`.
  ///   - body: What to send: bytes, a file, or a sequence.
  ///   - lane: `long` for what stays open: it goes by the long lane.
  ///   - policy: What becomes of a long request when its lane has no place, as for ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  ///   - onProgress: Told how much has been sent, in place of the request's own ``DispatchRequest/onUploadProgress``.
  /// - Throws: ``DispatchError``: `bodyFailed` when the body can't be had; the rest as
  ///   ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  public nonisolated(nonsending) func upload(
    for request: DispatchRequest, from body: RequestBody, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) async throws(DispatchError) -> DispatchResponse {
    var request = request
    if request.method == .get { request.method = .put }
    request.body = body
    if let onProgress { request.onUploadProgress = onProgress }
    return try await data(for: request, lane: lane, policy: policy)
  }

  func makeDownload(
    _ request: DispatchRequest, _ destination: FileDestination, _ lane: RequestLane,
    _ onProgress: DownloadProgress.Listener?, _ acceptance: Acceptance?, _ completion: @escaping FileCompletion
  ) -> DispatchOperation {
    let sink = FileSink(destination, acceptance: acceptance, onProgress: onProgress, completion)
    let operation = makeOperation(request, lane, sink)
    sink.attach(operation)
    return operation
  }

  /// Submits an operation and suspends until its result is there. Cancelling the task cancels the operation, which may
  /// happen before its submission.
  private nonisolated(nonsending) func result<Value: Sendable>(
    of operation: DispatchOperation, _ reply: Reply<Result<Value, DispatchError>>,
    _ patience: Scheduler<any GateClient>.Patience
  ) async throws(DispatchError) -> Value {
    let result = await withTaskCancellationHandler {
      operation.submit(patience: patience, mayBeHeld: true)
      return await reply.value()
    } onCancel: {
      operation.cancel()
    }
    return try result.get()
  }
}

/// Keeps a stream's body alive from its submission until the head has come and the caller takes it over.
private final class StreamOpening: Sendable {
  let body = Locked<StreamedBody?>(nil)

  func takeBody() -> StreamedBody? { body.withLock { $0.take() } }
}
