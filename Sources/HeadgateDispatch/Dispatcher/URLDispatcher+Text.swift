// Every verb for a URL as text. What throws throws `invalidURL` for a text that is no URL; a completion is told of it
// instead, since one place for errors is enough for its caller.

extension URLDispatcher {
  // MARK: In a task

  /// Fetches a URL into memory.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`; the rest as ``data(for:lane:policy:)-(DispatchRequest,_,_)``.
  public nonisolated(nonsending) func data(
    for url: String, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> DispatchResponse {
    try await data(for: DispatchRequest(url), lane: lane, policy: policy)
  }

  /// Fetches a URL and returns when the response's head has come; the body is read piece by piece.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`; the rest as ``stream(for:lane:policy:)-(DispatchRequest,_,_)``.
  public nonisolated(nonsending) func stream(
    for url: String, lane: RequestLane = .short, policy: LongRequestPolicy = .throw
  ) async throws(DispatchError) -> StreamedResponse {
    try await stream(for: DispatchRequest(url), lane: lane, policy: policy)
  }

  /// Fetches a URL into a file.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`; the rest as
  ///   ``download(for:to:lane:policy:onProgress:)-(DispatchRequest,_,_,_,_)``.
  public nonisolated(nonsending) func download(
    for url: String, to destination: FileDestination, lane: RequestLane = .short,
    policy: LongRequestPolicy = .enqueue, onProgress: DownloadProgress.Listener? = nil
  ) async throws(DispatchError) -> FileResponse {
    try await download(
      for: DispatchRequest(url), to: destination, lane: lane, policy: policy, onProgress: onProgress)
  }

  /// Sends a body to a URL and gathers the response in memory.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`; the rest as
  ///   ``upload(for:from:lane:policy:onProgress:)-(DispatchRequest,_,_,_,_)``.
  public nonisolated(nonsending) func upload(
    for url: String, from body: RequestBody, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) async throws(DispatchError) -> DispatchResponse {
    try await upload(for: DispatchRequest(url), from: body, lane: lane, policy: policy, onProgress: onProgress)
  }

  // MARK: The classic verbs

  /// Fetches a URL by a short request and returns at once; as the form that takes a request.
  ///
  /// - Returns: The operation; nil for a text that is no URL: the completion got the error `invalidURL` then.
  @discardableResult
  public func dispatchShort(_ url: String, completion: @escaping ResponseCompletion) -> URLDispatchOperation? {
    request(to: url, completion).map { dispatchShort($0, completion: completion) }
  }

  /// Fetches a URL into a file by a short request and returns at once; as the form that takes a request.
  ///
  /// - Returns: The operation; nil for a text that is no URL: the completion got the error `invalidURL` then, inside this
  ///   call.
  @discardableResult
  public func dispatchShort(
    _ url: String, to destination: FileDestination, onProgress: DownloadProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map {
      dispatchShort($0, to: destination, onProgress: onProgress, completion: completion)
    }
  }

  /// Fetches a URL by a short request and returns at once; the delegate hears of it as it goes on.
  ///
  /// - Throws: ``DispatchError`` with `invalidURL` only: the delegate hears nothing then.
  @discardableResult
  public func dispatchShort(
    _ url: String, delegate: any URLDispatchDelegate, on target: DelegateTarget = .ownPool
  ) throws(DispatchError) -> URLDispatchOperation {
    dispatchShort(try DispatchRequest(url), delegate: delegate, on: target)
  }

  /// Fetches a URL by a long request and returns at once; as the form that takes a request.
  ///
  /// - Returns: The operation; nil for a text that is no URL: the completion got the error `invalidURL` then.
  @discardableResult
  public func dispatchLong(
    _ url: String, policy: LongRequestPolicy = .fail, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map { dispatchLong($0, policy: policy, completion: completion) }
  }

  /// Fetches a URL into a file by a long request and returns at once; as the form that takes a request.
  ///
  /// - Returns: The operation; nil for a text that is no URL: the completion got the error `invalidURL` then, inside this
  ///   call.
  @discardableResult
  public func dispatchLong(
    _ url: String, to destination: FileDestination, policy: LongRequestPolicy = .fail,
    onProgress: DownloadProgress.Listener? = nil, completion: @escaping FileCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map {
      dispatchLong($0, to: destination, policy: policy, onProgress: onProgress, completion: completion)
    }
  }

  /// Fetches a URL by a long request and returns at once; the delegate hears of it as it goes on.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`, whatever the policy; the rest as the form that takes a request.
  @discardableResult
  public func dispatchLong(
    _ url: String, delegate: any URLDispatchDelegate, policy: LongRequestPolicy = .throw,
    on target: DelegateTarget = .ownPool
  ) throws(DispatchError) -> URLDispatchOperation {
    try dispatchLong(DispatchRequest(url), delegate: delegate, policy: policy, on: target)
  }

  /// Fetches a URL, blocks the calling thread until the request has ended, and returns the whole response.
  ///
  /// - Throws: ``DispatchError``: `invalidURL`; the rest as the form that takes a request.
  @available(*, noasync)
  public func dispatchSynchronously(
    _ url: String, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) throws(DispatchError) -> DispatchResponse {
    try dispatchSynchronously(DispatchRequest(url), lane: lane, policy: policy)
  }

  private func request<Response>(
    to url: String, _ completion: (Result<Response, DispatchError>) -> Void
  ) -> DispatchRequest? {
    do throws(DispatchError) {
      return try DispatchRequest(url)
    } catch {
      DeliveryFrame.mark(ObjectIdentifier(gate)) { completion(.failure(error)) }
      return nil
    }
  }
}
