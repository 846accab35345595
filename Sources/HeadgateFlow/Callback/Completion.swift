import HeadgateThreads

/// A function that answers by a callback instead of returning: what `waitForCallback` and all combinators take.
///
///     let load: CallbackFunction<Data, any Error> = { completion in
///       let task = session.dataTask(with: url) { data, _, error in completion(data, error) }
///       completion.onCancel { task.cancel() }
///       task.resume()
///     }
///
/// It should return soon and answer later, on any thread; answering at once, before it returns, is as good.
public typealias CallbackFunction<Success: Sendable, Failure: Error> =
  @Sendable (Completion<Success, Failure>) -> Void

/// What a callback function calls with its answer, once.
///
/// However it is called, there is one outcome:
/// - **Once**: that is the answer.
/// - **Again**: ignored, and told in the log the first time; a success goes to the caller's `discard`.
/// - **Never**: when the function has let go of all copies of it, the call ends with ``FlowErrorCode/unanswered``; while
///   somebody keeps a copy (a cancel hook that captures it does), the caller's deadline ends the wait.
/// - **At once, on the calling thread**: as good as later.
/// - **After the deadline, or cancelled and given up**: the caller has gone on; a success goes to `discard`.
public struct Completion<Success: Sendable, Failure: Error>: Sendable {
  let call: CallbackCall<Success, Failure>
  private let token: CompletionToken<Success, Failure>

  init(_ call: CallbackCall<Success, Failure>) {
    self.call = call
    token = CompletionToken(call)
  }

  /// Answers.
  public func callAsFunction(_ result: Result<Success, Failure>) { call.answer(CallEnd(result)) }

  /// Answers with a success.
  public func succeed(_ value: Success) { call.answer(.success(value)) }

  /// Answers with a failure.
  public func fail(_ failure: Failure) { call.answer(.failure(failure)) }

  /// Has `hook` called when the caller does not need the answer any more: it was cancelled, lost, or ran out of time.
  ///
  /// Each hook is called once at most, on the thread that cancels, with no lock held; at once if that has happened
  /// already; not once the function has answered. It must return soon, and may answer. An error that it throws goes to
  /// the log and stops nothing, other hooks included. Hooks are let go of at the answer.
  public func onCancel(_ hook: @escaping @Sendable () throws -> Void) { call.onCancel(.init(run: hook)) }

  /// Whether the caller does not need the answer any more.
  public var isCancelled: Bool { call.reason != nil }

  /// Says where the answer is delivered, so that what follows runs there; the last call before the answer counts.
  ///
  /// If a thread is blocked until this answer comes and is itself what would have to deliver it (the loop's thread, the
  /// main thread, the only thread of the pool), it is told ``FlowErrorCode/wouldDeadlock`` at once instead of hanging,
  /// and the function is cancelled. So a function that will answer on a certain loop or queue anyway should say so.
  ///
  /// - Parameter target: The place.
  /// - Returns: The completion itself.
  @discardableResult
  public func deliver(on target: Delivery) -> Completion {
    call.deliver(on: target)
    return self
  }
}

extension Completion where Success == Void {
  /// Answers that it is done.
  public func succeed() { succeed(()) }
}

extension Completion where Failure == any Error {
  /// Answers in the style of callbacks with two optionals. Both: the error counts, and the value goes to the caller's
  /// `discard`. Neither: it fails with ``EmptyAnswer``.
  public func callAsFunction(_ value: Success?, _ error: (any Error)?) {
    if let error {
      call.answer(.failure(error))
      // Comes second, so that it is let go of as what nobody takes.
      if let value { call.drop(value) }
    } else if let value {
      call.answer(.success(value))
    } else {
      call.answer(.failure(EmptyAnswer()))
    }
  }
}

/// A callback in the style of two optionals brought neither a value nor an error.
public struct EmptyAnswer: HeadgateError, Hashable {
  /// The error.
  public init() {}

  /// `empty_answer`.
  public var codeName: String { "empty_answer" }

  /// For people.
  public var description: String { "the callback brought neither a value nor an error; look into the function" }
}

extension Completion {
  /// A completion for a function beneath, whose end is told here in other words. What is cancelled here is cancelled
  /// there. `discard` gets a success that the function brings beside its answer.
  func beneath<Inner: Sendable, InnerFailure: Error>(
    _ translate: @escaping @Sendable (CallEnd<Inner, InnerFailure>) -> CallEnd<Success, Failure>,
    discard: (@Sendable (Inner) -> Void)? = nil
  ) -> Completion<Inner, InnerFailure> {
    let inner = CallbackCall<Inner, InnerFailure>(duties: call.duties, discard: discard) { end in
      call.answer(translate(end))
      return true
    }
    call.attach(.init(cancelled: { code in inner.cancel(code) }, discard: nil))
    return Completion<Inner, InnerFailure>(inner)
  }

  /// A completion whose success is another value here.
  func mapped<Inner: Sendable>(_ transform: @escaping @Sendable (Inner) -> Success) -> Completion<Inner, Failure> {
    beneath { end in
      switch end {
      case .success(let value): .success(transform(value))
      case .failure(let failure): .failure(failure)
      case .missing(let code, let error): .missing(code, error)
      }
    }
  }
}

/// Notices that all copies of a completion are gone.
private final class CompletionToken<Success: Sendable, Failure: Error>: Sendable {
  private let call: CallbackCall<Success, Failure>

  init(_ call: CallbackCall<Success, Failure>) { self.call = call }

  deinit { call.answer(.missing(.unanswered)) }
}
