import HeadgateThreads

/// A function that delivers its result through a callback instead of returning it: the argument of `awaitCallback` and
/// `waitForCallback`.
///
///     let load: CallbackFunction<Data> = { completion in
///       let task = session.dataTask(with: url) { data, _, error in completion(data, error) }
///       completion.onCancel { task.cancel() }
///       task.resume()
///     }
///
/// It should return quickly and call its completion later, on any thread. It may also do so before it returns.
public typealias CallbackFunction<Success: Sendable> = @Sendable (Completion<Success>) -> Void

/// The completion of a callback function: it delivers the function's answer, once.
///
/// There is exactly one outcome:
/// - **Once**: that is the answer.
/// - **Again**: ignored, and logged the first time; a success is passed to the caller's `discard`.
/// - **Never**: when the function has released all copies of the completion, the call ends with
///   ``FlowError/Code/completionReleased``. While a copy is retained (for example by a cancellation handler that
///   captures it), only the caller's deadline ends the wait.
/// - **At once, on the calling thread**: the same as a later call.
/// - **After the deadline or a cancellation**: the caller has continued; a success is passed to `discard`.
public struct Completion<Success: Sendable>: Sendable {
  private let call: CallbackCall<Success>
  private let token: CompletionToken<Success>

  init(_ call: CallbackCall<Success>) {
    self.call = call
    token = CompletionToken(call)
  }

  /// Answers.
  public func callAsFunction<Failure: Error>(_ result: Result<Success, Failure>) {
    call.answer(result.mapError { $0 })
  }

  /// Answers in the style of callbacks with two optionals. If both are present, the error counts, and the value is
  /// passed to the caller's `discard`. If neither is, the call fails with ``MissingResult``.
  public func callAsFunction(_ value: Success?, _ error: (any Error)?) {
    if let error {
      fail(error)
      if let value { call.drop(.success(value)) }
    } else if let value {
      succeed(value)
    } else {
      fail(MissingResult())
    }
  }

  /// Answers with a success.
  public func succeed(_ value: Success) { call.answer(.success(value)) }

  /// Answers with a failure.
  public func fail(_ failure: any Error) { call.answer(.failure(failure)) }

  /// Registers a cancellation handler, which is called when the caller no longer needs the answer: the call was
  /// cancelled, lost a race, or timed out.
  ///
  /// Each handler is called at most once, on the thread that cancels, without a lock. It is called at once if the
  /// cancellation has already happened, and never after the function has answered. It must return quickly, and may
  /// answer. An error that it throws is logged and has no further effect; other handlers still run. Handlers are
  /// released when the function answers.
  public func onCancel(_ hook: @escaping @Sendable () throws -> Void) { call.onCancel(Closure(hook)) }

  /// Whether the caller no longer needs the answer.
  public var isCancelled: Bool { call.isCancelled }

  /// Declares where the function is going to answer, if that is a particular target.
  ///
  /// If a thread is blocked until this answer arrives and is itself the thread that would have to run the call there
  /// (the loop's thread, the main thread, the only thread of the pool), the wait ends at once with
  /// `WaitError.Code.wouldDeadlock` instead of hanging, and the function is cancelled.
  ///
  /// - Parameter target: The target.
  /// - Returns: The completion itself.
  @discardableResult
  public func answers(on target: Delivery) -> Completion {
    call.expectAnswer(on: target)
    return self
  }
}

extension Completion where Success == Void {
  /// Answers with success.
  public func succeed() { succeed(()) }
}

/// A callback with two optionals was called with neither a value nor an error.
public struct MissingResult: HeadgateError, Hashable {
  /// Creates the error.
  public init() {}

  /// `missing_result`.
  public var codeName: String { "missing_result" }

  /// A readable text.
  public var description: String { "the callback was called with neither a value nor an error; check the function" }
}

/// Detects that all copies of a completion were released.
private final class CompletionToken<Success: Sendable>: Sendable {
  private let call: CallbackCall<Success>

  init(_ call: CallbackCall<Success>) { self.call = call }

  deinit { call.completionReleased() }
}
