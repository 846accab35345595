import CHeadgate

/// A thread, seen from anywhere: one that this library started, or one that others made (the main thread, pthread,
/// libdispatch). What ``ManagedThread/current`` gives, to keep and to hand to other threads.
///
///     let consumer = ManagedThread.current
///     …                              // on another thread
///     consumer.unpark()
///
/// It keeps nothing alive but a few words. After the thread's end it is still valid: `unpark` and `cancel` then do
/// nothing.
public struct ThreadHandle: Hashable, Sendable, CustomStringConvertible {
  let record: ThreadRecord

  init(_ record: ThreadRecord) { self.record = record }

  /// Whether two of them mean the same thread.
  public static func == (left: ThreadHandle, right: ThreadHandle) -> Bool { left.record === right.record }

  /// Hashes which thread it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(record)) }

  /// The thread's name, whole. For threads that others made: what the system says, empty once they have ended.
  public var name: String { record.name }

  /// Whether this library started it.
  public var isManaged: Bool { record.isManaged }

  /// Whether it is the calling thread.
  public var isCurrent: Bool { record.isCurrent }

  /// The number by which the system's tools know it (`top -H`, `ps -L`, a debugger); nil when it doesn't run.
  public var systemNumber: UInt64? { record.withSystemThread { $0.number } }

  /// The bytes of its stack, which may be more than was asked for; nil when it doesn't run or the system won't tell.
  public var stackSize: Int? {
    record.withSystemThread { headgate_thread_stack($0.thread) }.flatMap { $0 > 0 ? Int($0) : nil }
  }

  /// Whether it was asked to end. Always false for threads that others made.
  public var isCancelled: Bool { record.isCancelled }

  /// Asks the thread to end: its `isCancelled` is true from now on, and its waits in this library (sleep, park, join,
  /// queues) end with ``WaitError/Code/cancelled``, those that it is in and all later ones. O(1).
  ///
  /// - Returns: False for a thread that others made. It may run somebody else's work next, so it can't be cancelled.
  @discardableResult
  public func cancel() -> Bool {
    guard record.isManaged else { return false }
    record.cancel()
    return true
  }

  /// Leaves the thread the permit that its ``ManagedThread/park(until:)`` waits for, now or later. Several permits before
  /// that are one. `LockSupport.unpark`. O(1).
  public func unpark() { record.leavePermit() }

  /// For people: the name and the system's number.
  public var description: String {
    "thread \"\(name)\"" + (systemNumber.map { " (\($0))" } ?? "")
  }
}

extension ThreadHandle {
  /// What the system's scheduler goes by for this thread. Apple's systems tell a thread of itself only.
  ///
  /// Throws ``ThreadError/Code/notRunning`` before its start and after its end, ``ThreadError/Code/priorityRefused`` when
  /// the system doesn't tell.
  public func effectivePriority() throws(ThreadError) -> EffectivePriority {
    switch record.withSystemThread({ EffectivePriority.of($0) }) {
    case .success(let priority): return priority
    case .failure(let failure): throw ThreadError(.priorityRefused, errno: failure.errno, name: name)
    case nil: throw ThreadError(.notRunning, name: name)
    }
  }

  /// Changes the running thread's priority: `pthread_setschedparam`, `setpriority`, `Thread.threadPriority`. Apple's
  /// systems let a thread change itself only.
  ///
  /// Throws ``ThreadError/Code/priorityRefused`` with the system's error number when it is refused (then nothing has
  /// changed, but for a policy other than the standard one, which a refused nice value may have ended), and
  /// ``ThreadError/Code/notRunning`` before the thread's start and after its end.
  public func setPriority(_ priority: ThreadPriority) throws(ThreadError) {
    guard let errno = record.withSystemThread({ priority.apply(to: $0) }) else {
      throw ThreadError(.notRunning, name: name)
    }
    guard errno == 0 else { throw ThreadError(.priorityRefused, errno: errno, name: name) }
  }
}
