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
