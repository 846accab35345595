import HeadgateThreads

/// Calls a callback function and returns; its end is told to `receive`, once, where asked.
///
///     let upload = startCallback(on: .mainActor, callbackFunction { try await send(file) }) { result in
///       MainActor.assumeIsolated { view.show(result) }
///     }
///     upload.cancel()
///
/// Blocks nobody. `receive` is called exactly once, if the function is cancelled or lets go of its completion as well;
/// only a function that keeps its completion and never calls it, cancelled or not, keeps it waiting: give it to
/// `withDeadline` first.
///
/// - Parameters:
///   - target: Where `receive` is called. If nothing is taken there any more, it is called with
///     ``FlowErrorCode/undeliverable`` on the thread that found out: touch what belongs to the place in no such case.
///   - discard: Gets a success that could not be delivered.
///   - function: What is called, here and now.
///   - receive: What is told of the end.
/// - Returns: A handle to cancel it. Letting go of it changes nothing.
@discardableResult
public func startCallback<Success: Sendable, Failure: Error>(
  on target: Delivery = .inline, discard: (@Sendable (Success) -> Void)? = nil,
  _ function: CallbackFunction<Success, Failure>,
  _ receive: @escaping @Sendable (Result<Success, FlowError<Failure>>) -> Void
) -> StartedCallback {
  let start = Deadline.now
  let call = CallbackCall<Success, Failure>(duties: nil, discard: discard) { end in
    do throws(FlowError<Failure>) {
      receive(.success(try CallWait.Outcome.ended(end).value("startCallback", since: start)))
    } catch {
      receive(.failure(error))
    }
    return true
  }
  call.deliver(on: target)
  function(Completion(call))
  return StartedCallback { call.cancel(.cancelled) }
}

/// A callback function that was started and whose end somebody is told of.
public struct StartedCallback: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Asks the function to end, through its cancel hooks; what it then answers is told as ever. From any thread; a second
  /// call, and one after the end, does nothing.
  public func cancel() { end() }
}
