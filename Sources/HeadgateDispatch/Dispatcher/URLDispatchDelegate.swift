/// Hears of a request as it goes on: the classic `LSURLDispatchDelegate`.
///
/// **Order.** The calls of one operation come one at a time: responses and data in the order of their coming (challenges before
/// the response that they are about), then exactly one of finished, failed and cancelled, and after that none. Calls of different operations may come at the
/// same time on several threads.
///
/// **Where.** By default on threads of the dispatcher's own pool, or where a ``DelegateTarget`` says. A delegate may
/// take its time: while it does, the transport stops reading that request's socket (about 256 KB are held in memory),
/// and nobody else's. It may submit, cancel and query; what would block on the same dispatcher is refused.
///
/// **Life.** The dispatcher holds a delegate weakly: keep it for as long as you want to hear. When it is gone its
/// request is cancelled at the next call that it would have got.
///
/// Every call has a default, which does nothing.
public protocol URLDispatchDelegate: AnyObject, Sendable {
  /// The server asks who wants to know (401), or a proxy does (407). With a credential for an answer, the request is sent
  /// again under the same permit, and nothing is told of the response that asked. Asked again when the server does not
  /// accept it, five times at most; `previousFailures` tells. The time that the answer takes counts as running.
  ///
  /// Whom a transport trusts in TLS is a matter of its configuration, and not asked here.
  ///
  /// - Returns: What to do; ``AuthenticationAnswer/default`` unless implemented, which makes this response the request's.
  func dispatchOperation(
    _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
  ) -> AuthenticationAnswer

  /// So much of the request's body has been sent: as ``DispatchRequest/onUploadProgress``, in the order of the other
  /// calls. While the delegate is busy only the latest count waits. A body that is sent again is told of once it goes
  /// beyond what was sent before.
  func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: UploadProgress)

  /// Status and header fields have come; ``URLDispatchOperation/url`` says from where. May come more than once, where a
  /// transport brings several responses for one request: the data of the one before is void then.
  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead)

  /// A piece of the body, never empty, as the server encoded it.
  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8])

  /// The response was whole, whatever its status. The last call.
  func dispatchOperationDidFinish(_ operation: URLDispatchOperation)

  /// The request did not come to its end. The last call.
  func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError)

  /// The request was cancelled: by its handle, or because nobody was left to hear of it. What came before and was not
  /// told yet never is. The last call.
  func dispatchOperationWasCancelled(_ operation: URLDispatchOperation)
}

extension URLDispatchDelegate {
  /// Answers with no credential.
  public func dispatchOperation(
    _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
  ) -> AuthenticationAnswer { .default }

  /// Does nothing.
  public func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: UploadProgress) {}

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
