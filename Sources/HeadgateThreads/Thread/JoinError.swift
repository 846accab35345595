/// Why a thread could not be joined, or what it failed with.
///
///     do {
///       let sum = try thread.join()
///     } catch {
///       if let failure = error.failure { … }  // what the thread's body threw, with its type
///     }
public struct JoinError<Failure: Error>: HeadgateError {
  /// The reason.
  public let code: JoinErrorCode

  /// What the thread's body threw; nil unless the code is ``JoinErrorCode/failed``.
  public let failure: Failure?

  /// The thread's name.
  public let thread: String

  /// How long the join had waited.
  public let waited: Duration

  @usableFromInline
  init(_ code: JoinErrorCode, failure: Failure? = nil, thread: String, waited: Duration = .zero) {
    self.code = code
    self.failure = failure
    self.thread = thread
    self.waited = waited
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// What the body threw.
  public var underlyingError: (any Error)? { failure }

  /// For people: what ended, why, after how long, and what to do.
  public var description: String {
    let reason = failure.map { "\(code.explanation): \($0)" } ?? code.explanation
    return "join thread \"\(thread)\": \(reason) after \(waited.inSeconds) s; \(code.advice)"
  }
}

/// The reason of a ``JoinError``. New ones may come: handle those that you know, and treat the others as a failure.
public struct JoinErrorCode: Hashable, Sendable, CustomStringConvertible {
  /// Its name, as it stands in logs.
  public let description: String
  let explanation: String
  let advice: String

  private init(_ name: String, _ explanation: String, _ advice: String) {
    description = name
    self.explanation = explanation
    self.advice = advice
  }

  /// The thread's body threw an error: see ``JoinError/failure``.
  public static let failed = JoinErrorCode("failed", "it ended with an error", "look at the error")
  /// Somebody has joined it, or is doing so at this moment.
  public static let alreadyJoined = JoinErrorCode(
    "already_joined", "somebody else joins or has joined it", "join a thread from one place")
  /// A thread can't wait for its own end.
  public static let joinedItself = JoinErrorCode(
    "joined_itself", "a thread can't wait for its own end", "join it from another thread")
  /// The thread was detached, so that its result goes to nobody.
  public static let detached = JoinErrorCode("detached", "it was detached", "don't detach what is to be joined")
  /// The thread was not started.
  public static let notStarted = JoinErrorCode("not_started", "it was not started", "call start() first")
  /// The thread left through `pthread_exit` instead of returning, so that there is no result.
  public static let leftWithoutReturning = JoinErrorCode(
    "left_without_returning", "it left through pthread_exit", "return from the body instead")
  /// The deadline passed first. The thread goes on, and can be joined later.
  public static let timedOut = JoinErrorCode("timed_out", "the deadline passed", "wait longer, or cancel it")
  /// The waiting thread or task was cancelled. The joined thread goes on, and can be joined later.
  public static let cancelled = JoinErrorCode("cancelled", "the one who waited was cancelled", "end what you do")
  /// Both wait for each other without a limit, or through a chain of others.
  public static let wouldDeadlock = JoinErrorCode(
    "would_deadlock", "it waits for the end of the one who would wait", "join from outside, or with a deadline")
  /// A task of Swift's runs on the calling thread, which is not one of Headgate's: blocking it may stop all others.
  public static let onCooperativeThread = JoinErrorCode(
    "on_cooperative_thread", "blocking a cooperative thread may stop all tasks", "use value()")
}
