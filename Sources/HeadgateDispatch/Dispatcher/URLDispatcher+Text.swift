import HeadgateThreads

// The methods that throw accept a URL as text as well as a request, see `RequestConvertible`. These don't throw: an
// invalid URL is reported to the completion, so that the caller handles errors in one place.

extension URLDispatcher {
  /// Fetches a URL with a short request and returns at once, like the form that takes a request.
  ///
  /// - Returns: The operation. Nil for an invalid URL: the completion has then received the error `invalidURL`.
  @discardableResult
  public func dispatchShort(_ url: String, completion: @escaping ResponseCompletion) -> URLDispatchOperation? {
    request(to: url, completion).map { dispatchShort($0, completion: completion) }
  }

  /// Fetches a URL into a file with a short request and returns at once, like the form that takes a request.
  ///
  /// - Returns: The operation. Nil for an invalid URL: the completion has then received the error `invalidURL` inside
  ///   this call.
  @discardableResult
  public func dispatchShort(
    _ url: String, to destination: FileDestination, onProgress: TransferProgress.Listener? = nil,
    completion: @escaping FileCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map {
      dispatchShort($0, to: destination, onProgress: onProgress, completion: completion)
    }
  }

  /// Fetches a URL with a short request and returns at once. The delegate receives its events.
  ///
  /// - Throws: `DispatchError` with `invalidURL` only. In that case the delegate gets no calls.
  @discardableResult
  public func dispatchShort(
    _ url: String, delegate: any URLDispatchDelegate, on target: Delivery? = nil
  ) throws(DispatchError) -> URLDispatchOperation {
    dispatchShort(try DispatchRequest(url), delegate: delegate, on: target)
  }

  /// Fetches a URL with a long request and returns at once, like the form that takes a request.
  ///
  /// - Returns: The operation. Nil for an invalid URL: the completion has then received the error `invalidURL`.
  @discardableResult
  public func dispatchLong(
    _ url: String, policy: LongRequestPolicy = .fail, completion: @escaping ResponseCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map { dispatchLong($0, policy: policy, completion: completion) }
  }

  /// Fetches a URL into a file with a long request and returns at once, like the form that takes a request.
  ///
  /// - Returns: The operation. Nil for an invalid URL: the completion has then received the error `invalidURL` inside
  ///   this call.
  @discardableResult
  public func dispatchLong(
    _ url: String, to destination: FileDestination, policy: LongRequestPolicy = .fail,
    onProgress: TransferProgress.Listener? = nil, completion: @escaping FileCompletion
  ) -> URLDispatchOperation? {
    request(to: url, completion).map {
      dispatchLong($0, to: destination, policy: policy, onProgress: onProgress, completion: completion)
    }
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
