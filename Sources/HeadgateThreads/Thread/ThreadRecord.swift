import CHeadgate
import Synchronization

/// What this library knows of one thread: where it sleeps, whether it was asked to end, what it keeps.
///
/// Threads that the library starts have one from their first line on; threads that others made (the main thread, pthread,
/// libdispatch) get one when they first need it, and lose it when they exit.
package final class ThreadRecord: Sendable {
  /// Where the library's own waits sleep. Not where `ManagedThread.park` does: a wait must not eat a token that the
  /// program left for itself.
  package let waitParker = Parker()

  private let cancelled = AtomicCell<Bool>(false)

  package init() {}

  /// The calling thread's record. A few instructions, once it exists.
  package static var current: ThreadRecord {
    if let pointer = headgate_record_get() {
      // The thread holds one reference, from `passRetained` below until its exit.
      return Unmanaged<ThreadRecord>.fromOpaque(pointer).takeUnretainedValue()
    }
    let record = ThreadRecord()
    record.becomeCurrent()
    return record
  }

  /// Makes it the calling thread's record; that had none before.
  package func becomeCurrent() {
    headgate_record_set(Unmanaged.passRetained(self).toOpaque()) { pointer in
      guard let pointer else { return }
      // Balances `passRetained`: the thread exits.
      Unmanaged<ThreadRecord>.fromOpaque(pointer).release()
    }
  }

  /// Whether the thread was asked to end.
  package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Asks the thread to end, and wakes it if it waits in this library. From any thread; once is enough.
  package func cancel() {
    cancelled.store(true, ordering: .releasing)
    waitParker.unpark()
  }
}
