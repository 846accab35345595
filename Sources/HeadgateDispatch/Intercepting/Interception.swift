import HeadgateThreads

/// What an interceptor knows of the request that it works on, beside what that is at the moment.
public struct Interception: Sendable {
  /// The request as no interceptor has changed it: as it was submitted, as a redirect or a credential made it, or as an
  /// interceptor answered.
  public let unprepared: DispatchRequest

  /// How often this interceptor had the request sent again, five times at most.
  public let resends: Int

  private let age: Deadline
  private let core: DispatchCore

  init(unprepared: DispatchRequest, resends: Int, age: Deadline, _ core: DispatchCore) {
    self.age = age
    self.unprepared = unprepared
    self.resends = resends
    self.core = core
  }

  /// The present, by the dispatcher's clock.
  public var now: Deadline { core.now }

  /// Sends a request through the same dispatcher, under its limits as all others and past all interceptors, and gathers the
  /// response in memory: a token is asked for like this. In the queue it is as old as the request that needs it, so that it
  /// does not stand behind others that need it as well.
  ///
  /// It is sent also while the dispatcher drains, as long as a request waits for what comes of it. Keep no interception
  /// beyond the call that it was handed to: it keeps the transport alive, though not the dispatcher.
  ///
  /// - Parameter request: What to send.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``DispatchError``, as ``URLDispatcher/data(for:lane:policy:)-(DispatchRequest,_,_)``; `cancelled` when the task is.
  public func send(_ request: DispatchRequest) async throws(DispatchError) -> DispatchResponse {
    let canceller = Canceller()
    typealias Response = Result<DispatchResponse, DispatchError>
    let result = await withTaskCancellationHandler {
      await withContinuation { (continuation: CheckedContinuation<Response, Never>) in
        let sink = CollectingSink(cap: request.maxBodyBytes) { continuation.resume(returning: $0) }
        let operation = DispatchOperation(request, .short, core, sink, .onBehalf, age: age)
        sink.attach(operation)
        canceller.set { operation.cancel() }
        operation.submit(patience: .waits, mayBeHeld: true)
      }
    } onCancel: {
      canceller.cancel()
    }
    return try result.get()
  }
}
