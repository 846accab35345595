import CHeadgate

/// Why a thread could not be started or changed.
public struct ThreadError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The system has no more threads, or no memory for the stack (`EAGAIN`).
    public static let outOfResources = Code(
      "out_of_resources",
      "raise the limit on processes (ulimit -u), request a smaller stack, or let other threads end first")
    /// The stack size is negative, larger than this machine's memory, or refused by the system.
    public static let invalidStackSize = Code(
      "invalid_stack_size", "request a size in bytes that fits into the machine's memory")
    /// The system refused the priority: the process lacks the right, or the system has no such priority.
    public static let priorityRefused = Code(
      "priority_refused",
      "request a lower priority, or grant the process the right (CAP_SYS_NICE, ulimit -e, ulimit -r)")
    /// The thread was started before. A thread runs once, and its attributes are then fixed.
    public static let alreadyStarted = Code("already_started", "create a new thread")
    /// The thread is not running: it has not started, or has ended.
    public static let notRunning = Code("not_running", "call it while the thread runs")
  }

  /// The reason.
  public let code: Code

  /// The system's error number; 0 if the system was not involved.
  public let errno: Int32

  /// The thread's name.
  public let name: String

  package init(_ code: Code, errno: Int32 = 0, name: String) {
    self.code = code
    self.errno = errno
    self.name = name
  }

  /// Translates the system's answer to `pthread_create`.
  init(creating name: String, errno: Int32) {
    self.init(errno == EINVAL ? .invalidStackSize : .outOfResources, errno: errno, name: name)
  }

  /// A readable text: what happened, and what to do.
  public var description: String {
    let number = errno == 0 ? "" : " (error \(errno))"
    return "thread \"\(name)\": \(code)\(number); \(code.reason.explanation)"
  }
}

/// Why a thread could not be joined, or the error that ended it.
///
///     do {
///       let sum = try thread.join()
///     } catch {
///       if let failure = error.failure { … }  // the error of the thread's body, with its type
///     }
public struct JoinError<Failure: Error>: HeadgateError, CodedError {
  /// The codes, the same for all failure types.
  public typealias Code = JoinErrorCode

  /// The reason.
  public let code: Code

  /// The error that the thread's body threw; nil unless the code is ``JoinErrorCode/failed``.
  public let failure: Failure?

  /// The thread's name.
  public let thread: String

  /// How long the join had waited.
  public let waited: Duration

  /// The cycle of waits that this one would have closed; nil unless the code is ``JoinErrorCode/wouldDeadlock``.
  public let cycle: String?

  @usableFromInline
  init(
    _ code: JoinErrorCode, failure: Failure? = nil, thread: String, waited: Duration = .zero, cycle: String? = nil
  ) {
    self.code = code
    self.failure = failure
    self.thread = thread
    self.waited = waited
    self.cycle = cycle
  }

  /// The error that the body threw.
  public var underlyingError: (any Error)? { failure }

  /// A readable text: the thread, the reason, how long the join waited, and what to do.
  public var description: String {
    "join thread \"\(thread)\": \(code.text(failure, cycle: cycle, after: waited))"
  }
}

/// The reason of a ``JoinError``. Later versions may add codes: handle those that you know, and treat all others as a
/// failure.
public struct JoinErrorCode: ErrorCode, Hashable, Sendable, CustomStringConvertible {
  package let reason: Reason
  package init(reason: Reason) { self.reason = reason }

  /// The thread's body threw an error: see ``JoinError/failure``.
  public static let failed = JoinErrorCode("failed", "it ended with an error", "see the error")
  /// The thread has been joined, or another join is waiting for it.
  public static let alreadyJoined = JoinErrorCode(
    "already_joined", "another join is waiting for it or has joined it", "join a thread from one place")
  /// A thread cannot wait for its own end.
  public static let joinedItself = JoinErrorCode(
    "joined_itself", "a thread cannot wait for its own end", "join it from another thread")
  /// The thread was detached, so its result is discarded.
  public static let detached = JoinErrorCode(
    "detached", "it was detached", "do not detach a thread that will be joined")
  /// The thread was not started.
  public static let notStarted = JoinErrorCode("not_started", "it was not started", "call start() first")
  /// The thread called `pthread_exit` instead of returning, so there is no result.
  public static let exited = JoinErrorCode("exited", "it called pthread_exit", "return from the body instead")
  /// The deadline passed first. The thread keeps running, and can be joined later.
  public static let timedOut = JoinErrorCode("timed_out", "the deadline passed", "wait longer, or cancel it")
  /// The waiting thread was cancelled. The joined thread keeps running, and can be joined later. A task that is
  /// cancelled while it waits gets `CancellationError`.
  public static let cancelled = JoinErrorCode("cancelled", "the wait was cancelled", "stop the current operation")
  /// The two threads would wait for each other without a deadline, directly or through other threads, loops and pool
  /// tasks. See ``JoinError/cycle``.
  public static let wouldDeadlock = JoinErrorCode(
    "would_deadlock", "it waits for the end of the calling thread", "join from another thread, or with a deadline")
  /// The calling thread must not block: see ``WaitError/Code/onCooperativeThread``.
  public static let onCooperativeThread = JoinErrorCode("on_cooperative_thread", WaitError.mustNotBlock, "use value()")
}
