import CHeadgate

/// A named thread that runs one closure and can be joined by any number of threads: a minimal ``ManagedThread`` for
/// this library's own use. It blocks all signals except those of its own faults, like threads of libdispatch and libuv,
/// so a program that waits for a signal on another thread receives it there.
package final class WorkerThread: Sendable {
  private let done: OneShot<Void>

  /// Starts the thread. Throws if the system refuses (`EAGAIN`).
  ///
  /// - Parameters:
  ///   - stackSize: In bytes; see ``ThreadAttributes/stackSize``.
  ///   - serves: Whether other threads depend on its work, so that it must never block on them.
  package convenience init(
    name: String, stackSize: Int = 0, serves: Bool = false, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    try self.init(name: name, stackSize: stackSize, kind: serves ? .service : .work, body)
  }

  init(
    name: String, stackSize: Int, kind: ThreadKind, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    let done = OneShot<Void>()
    self.done = done
    let work = TypedThreadWork<Void, Never> {
      body()
      done.set()
    }
    let attributes = ThreadAttributes(name: name, stackSize: stackSize, isDetached: true)
    try ThreadCore(attributes, kind: kind, work).start()
  }

  /// Whether the calling thread must not block: it serves other threads, or it runs a Swift task and is not one of
  /// ours, so that other tasks may need it.
  package static var mustNotBlock: Bool {
    Int(headgate_thread_role()) == headgate_role_service || isCooperative
  }

  /// Whether the calling thread is one of Swift's and runs a task: blocking it could stop all other tasks.
  package static var isCooperative: Bool {
    switch Int(headgate_thread_role()) {
    case headgate_role_own, headgate_role_service: false
    default: withUnsafeCurrentTask { $0 != nil }
    }
  }

  /// Waits until the closure has returned. Must not be called on the thread itself.
  package func join() { done.wait() }
}
