import CHeadgate
import Synchronization

/// Why a thread could not be started.
public struct ThreadError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system's error number, `EAGAIN` when it has no more threads to give.
  public let errno: Int32

  /// The name of the thread that was asked for.
  public let name: String

  /// For people: what happened, and what to do.
  public var description: String {
    "the thread \"\(name)\" could not be started (error \(errno)); "
      + "raise the limit on processes (ulimit -u) or let other threads end first"
  }
}

/// A named thread that runs one closure and can be joined.
package final class WorkerThread: Sendable {
  private let done: Completion

  /// Starts the thread. Throws when the system refuses (`EAGAIN`).
  ///
  /// - Parameter serves: Whether others wait for what it does, so that it must not wait for them itself.
  package init(
    name: String, stackSize: Int = 0, serves: Bool = false, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    let done = Completion()
    self.done = done
    let start = Unmanaged.passRetained(
      Start {
        if serves { headgate_mark_service_thread() }
        body()
        done.set()
      })
    let failure = headgate_thread_start(
      name, stackSize,
      { context in
        guard let context else { return }
        // Balances `passRetained`: the thread owns its closure from its first line on.
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        start.body()
      }, start.toOpaque())
    if failure != 0 {
      start.release()
      throw ThreadError(errno: failure, name: name)
    }
  }

  /// Whether the calling thread must not block: it serves others, or runs a task on Swift's cooperative threads.
  package static var mustNotBlock: Bool {
    headgate_is_service_thread() != 0 || withUnsafeCurrentTask { $0 != nil }
  }

  /// Waits until the closure has returned. Must not be called by the thread itself.
  package func join() { done.wait() }

  private final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// A latch that is set once and that any number of threads can wait for.
// Unchecked: `word` is a constant pointer to an atomic that lives as long as this object.
private final class Completion: @unchecked Sendable {
  private let word: UnsafeMutablePointer<Atomic<UInt32>>

  init() {
    word = .allocate(capacity: 1)
    word.initialize(to: Atomic(0))
  }

  deinit {
    word.deinitialize(count: 1)
    word.deallocate()
  }

  func set() {
    word.pointee.store(1, ordering: .releasing)
    headgate_wake_all(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
  }

  func wait() {
    while word.pointee.load(ordering: .acquiring) == 0 {
      _ = headgate_wait(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self), 0, .max)
    }
  }
}
