import CHeadgate

/// A reference to a thread, whether this library started it or not (the main thread, pthread, libdispatch).
/// ``ManagedThread/current`` returns one, to store and to pass to other threads.
///
///     let consumer = ManagedThread.current
///     …                              // on another thread
///     consumer.unpark()
///
/// It keeps only a few words of memory alive. It stays valid after the thread's end; `unpark` and `cancel` then have no
/// effect.
public struct ThreadHandle: Hashable, Sendable, CustomStringConvertible {
  let record: ThreadRecord

  init(_ record: ThreadRecord) { self.record = record }

  /// Whether both refer to the same thread.
  public static func == (left: ThreadHandle, right: ThreadHandle) -> Bool { left.record === right.record }

  /// Hashes the thread's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(record)) }

  /// The thread's full name. For foreign threads: the system's name, empty once they have ended.
  public var name: String { record.name }

  /// Whether this library started it.
  public var isManaged: Bool { record.isManaged }

  /// Whether it is the calling thread.
  public var isCurrent: Bool { record.isCurrent }

  /// The number by which the system's tools identify it (`top -H`, `ps -L`, a debugger); nil while it does not run.
  public var systemNumber: UInt64? { record.withSystemThread { $0.number } }

  /// The size of its stack in bytes, which may exceed the requested size; nil while it does not run or if the system
  /// does not report it.
  public var stackSize: Int? {
    record.withSystemThread { headgate_thread_stack($0.thread) }.flatMap { $0 > 0 ? Int($0) : nil }
  }

  /// Whether the thread was cancelled. Always false for threads that cannot be cancelled: see ``cancel()``.
  public var isCancelled: Bool { record.isCancelled }

  /// Cancels the thread: its `isCancelled` becomes true, and its current and all later waits in this library (sleep,
  /// park, join, queues) end with ``WaitError/Code/cancelled``. O(1).
  ///
  /// - Returns: False, without effect, for a foreign thread and for the thread of a loop or of timers. Such a thread
  ///   may run someone else's work next, so it cannot be cancelled. On a pool's thread the current task is cancelled.
  @discardableResult
  public func cancel() -> Bool {
    guard record.isCancellable else { return false }
    record.cancel()
    return true
  }

  /// Leaves the permit that the thread's ``ManagedThread/park(until:)`` waits for, now or later. There is at most one
  /// permit: several calls before the next `park` count as one. Like `LockSupport.unpark`. O(1).
  public func unpark() { record.leavePermit() }

  /// A readable text: the name and the system's number.
  public var description: String {
    "thread \"\(name)\"" + (systemNumber.map { " (\($0))" } ?? "")
  }
}

extension ThreadHandle {
  /// The parameters that the system's scheduler uses for this thread. On Apple's systems a thread can query only
  /// itself.
  ///
  /// Throws ``ThreadError/Code/notRunning`` before the thread's start and after its end, and
  /// ``ThreadError/Code/priorityRefused`` if the system refuses the query.
  public func effectivePriority() throws(ThreadError) -> EffectivePriority {
    switch record.withSystemThread({ EffectivePriority.of($0) }) {
    case .success(let priority): return priority
    case .failure(let failure): throw ThreadError(.priorityRefused, errno: failure.errno, name: name)
    case nil: throw ThreadError(.notRunning, name: name)
    }
  }

  /// Changes the running thread's priority, like `pthread_setschedparam`, `setpriority` and `Thread.threadPriority`. On
  /// Apple's systems a thread can change only itself.
  ///
  /// Throws ``ThreadError/Code/priorityRefused`` with the system's error number if it is refused, and
  /// ``ThreadError/Code/notRunning`` before the thread's start and after its end. A refusal changes nothing, with one
  /// exception: a refused nice value may have reset a non-standard policy to the standard one.
  public func setPriority(_ priority: ThreadPriority) throws(ThreadError) {
    guard let errno = record.withSystemThread({ priority.apply(to: $0) }) else {
      throw ThreadError(.notRunning, name: name)
    }
    guard errno == 0 else { throw ThreadError(.priorityRefused, errno: errno, name: name) }
  }
}
