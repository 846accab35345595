/// Receives the events of a request. Corresponds to the classic `LSURLDispatchDelegate`.
///
/// **Order.** The calls for one operation come one at a time: responses and data in the order of arrival, each
/// challenge before its response, then exactly one of finished, failed and cancelled, and nothing after that. Calls
/// for different operations may come concurrently.
///
/// **Target.** By default delegates are called on the dispatcher's own pool of up to 8 threads, which start when
/// needed and end when idle. If more than 8 delegates are slow at the same time, the others wait; give slow delegates
/// a pool of their own, or another `Delivery`. The calls for one operation are submitted one after another, so they
/// stay in order on a concurrent target too. If the target accepts no more calls (a stopped loop, a pool that is full
/// or disposed of), the request fails: its ``URLDispatchOperation/error`` is `deliveryFailed`, the log says so, and
/// the delegate is not called on another thread.
///
/// A delegate may be slow. While it is busy, the transport stops reading the socket of that request only, with about
/// 256 KB in memory. The exception is the target `inline`, which runs on the transport's own thread and stops all of
/// its requests. A delegate may submit, cancel and query requests. Calls that would block on the same dispatcher throw.
///
/// **Lifetime.** The dispatcher holds a delegate weakly: keep a reference for as long as you want its calls. If the
/// delegate is gone, the request is cancelled when the next call is due.
///
/// Every method has a default implementation, which does nothing.
public protocol URLDispatchDelegate: AnyObject, Sendable {
  /// The server (401) or a proxy (407) asks for credentials. If the answer is a credential, the request is sent again
  /// under the same permit, and the response that asked is not reported. If the server rejects the credential, the
  /// delegate is asked again, up to five times; `previousFailures` counts the rejections. The time to answer counts as
  /// running time.
  ///
  /// TLS trust is configured on the transport; the delegate is never asked about it.
  ///
  /// - Returns: What to do. The default implementation returns ``AuthenticationAnswer/default``, which delivers this
  ///   response.
  func dispatchOperation(
    _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
  ) -> AuthenticationAnswer

  /// Upload progress, as for ``DispatchRequest/onUploadProgress``, in order with the other calls. While the delegate
  /// is busy only the latest count is kept. If a body is sent again, progress is reported once it exceeds the earlier
  /// count.
  func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: TransferProgress)

  /// Status and header fields have arrived. ``URLDispatchOperation/url`` is the URL of the response. Called more than
  /// once if a transport delivers several responses for one request: in that case, discard the data of the earlier
  /// response.
  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead)

  /// A piece of the body, never empty, with the server's content encoding.
  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8])

  /// The response is complete, whatever its status. The last call.
  func dispatchOperationDidFinish(_ operation: URLDispatchOperation)

  /// The request failed. The last call.
  func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError)

  /// The request was cancelled, by its handle or because its delegate is gone. Events not delivered by then are
  /// dropped. The last call.
  func dispatchOperationWasCancelled(_ operation: URLDispatchOperation)
}

extension URLDispatchDelegate {
  /// Answers with no credential.
  public func dispatchOperation(
    _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
  ) -> AuthenticationAnswer { .default }

  /// Does nothing.
  public func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: TransferProgress) {}

  /// Does nothing.
  public func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {}

  /// Does nothing.
  public func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {}

  /// Does nothing.
  public func dispatchOperationDidFinish(_ operation: URLDispatchOperation) {}

  /// Does nothing.
  public func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {}

  /// Does nothing.
  public func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) {}
}
