#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Why a thread could not be started or changed.
public struct ThreadError: HeadgateError, Hashable {
  /// The kind of failure. New ones may come: handle those that you know, and treat the others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String
    fileprivate let advice: String

    private init(_ name: String, _ advice: String) {
      description = name
      self.advice = advice
    }

    /// The system has no more threads to give, or no memory for the stack (`EAGAIN`).
    public static let outOfResources = Code(
      "out_of_resources",
      "raise the limit on processes (ulimit -u), ask for a smaller stack, or let other threads end first")
    /// The stack size is negative or larger than this machine's memory, or the system refuses it.
    public static let invalidStackSize = Code("invalid_stack_size", "ask for a size in bytes that the machine has")
    /// The system refuses the priority: the process lacks the right, or the system does not know such a priority.
    public static let priorityRefused = Code(
      "priority_refused", "ask for a lower priority, or give the process the right (CAP_SYS_NICE, ulimit -e, ulimit -r)"
    )
    /// It was started before: a thread runs once, and its attributes stay.
    public static let alreadyStarted = Code("already_started", "make a new thread")
    /// The thread does not run: not yet, or not any more.
    public static let notRunning = Code("not_running", "ask while it runs")
  }

  /// The kind of failure.
  public let code: Code

  /// The system's error number; 0 where the system was not asked.
  public let errno: Int32

  /// The name of the thread.
  public let name: String

  package init(_ code: Code, errno: Int32 = 0, name: String) {
    self.code = code
    self.errno = errno
    self.name = name
  }

  /// What the system's answer to `pthread_create` means.
  init(creating name: String, errno: Int32) {
    self.init(errno == EINVAL ? .invalidStackSize : .outOfResources, errno: errno, name: name)
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what happened, and what to do.
  public var description: String {
    let number = errno == 0 ? "" : " (error \(errno))"
    return "thread \"\(name)\": \(code)\(number); \(code.advice)"
  }
}
