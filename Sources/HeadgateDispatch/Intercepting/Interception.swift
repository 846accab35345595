import HeadgateThreads

/// The context in which an interceptor processes a request.
public struct Interception: Sendable {
  /// The request without changes by interceptors: as it was submitted, redirected, given a credential, or replaced by
  /// an interceptor's answer.
  public let unprepared: DispatchRequest

  /// How often this interceptor had the request sent again: five times at most.
  public let resends: Int

  let age: Deadline
  let core: DispatchCore

  /// The current time of the dispatcher's clock.
  public var now: Deadline { core.now }

  /// Sends a request through the same dispatcher, within its limits but bypassing all interceptors, and collects the
  /// response in memory. Use it to fetch a token, for example. The request has the queueing age of the request that
  /// needs it, so that it is not queued behind others that wait for the same result.
  ///
  /// It is also sent while the dispatcher drains, because an accepted request depends on it. Don't store an
  /// interception beyond the call that received it: it keeps the transport alive, though not the dispatcher.
  ///
  /// - Parameter request: What to send.
  /// - Returns: The response, whatever its status.
  /// - Throws: `DispatchError`, as for ``URLDispatcher/data(for:lane:policy:)``; `cancelled` if the task is
  ///   cancelled.
  public func send(_ request: DispatchRequest) async throws(DispatchError) -> DispatchResponse {
    let reply = Reply<DispatchResponse>()
    let sink = CollectingSink(cap: request.maxBodyBytes, reply.put)
    return try await DispatchOperation(request, .short, core, sink, age: age).result(reply, .waits)
  }
}
