import CHeadgate
import Synchronization

/// What this library knows of one thread: where it sleeps, whether it was asked to end, what it keeps.
///
/// Threads that the library starts have one from their first line on; threads that others made (the main thread, pthread,
/// libdispatch) get one when they first need it, and lose it when they exit.
// Unchecked: `words` is a constant pointer, and what it points to belongs to the thread that the record is current on
// (before that, to nobody); `core` is set before the thread starts; the rest is constant, locked or atomic.
package final class ThreadRecord: @unchecked Sendable {
  /// Where every wait of the thread sleeps: the library's own and ``ManagedThread/park(until:)``. Whoever sleeps here
  /// looks for what he waits for himself, before and after, so that a token of an earlier wait only makes him look again.
  package let waitParker = Parker()

  /// Whether this library started the thread.
  package let isManaged: Bool

  /// What the thread runs and who waits for its end; nil for threads that others made.
  unowned(unsafe) var core: ThreadCore?

  private let words: UnsafeMutablePointer<headgate_thread>
  private let cancelled = AtomicCell<Bool>(false)
  private let permit = AtomicCell<Bool>(false)
  private let state: Locked<State>

  /// The thread as the system knows it, which may be used while it lives.
  package struct SystemThread: Sendable {
    package let thread: UInt
    package var number: UInt64 { headgate_thread_system_number(thread) }
  }

  private struct State {
    var name: String
    // While the thread lives.
    var system: SystemThread?
    var wakeUp: (@Sendable () -> Void)?
  }

  /// A record for a thread that is about to start.
  package init(name: String, isManaged: Bool = true) {
    self.isManaged = isManaged
    state = Locked(State(name: name))
    words = .allocate(capacity: 1)
    words.initialize(to: headgate_thread(record: nil, locals: nil, capacity: 0, newest: -1))
  }

  package convenience init() { self.init(name: "", isManaged: false) }

  deinit {
    words.pointee.locals?.deallocate()
    words.deallocate()
  }

  /// The calling thread's record. A few instructions, once it exists.
  package static var current: ThreadRecord {
    if let record = headgate_thread_current()?.pointee.record {
      // The thread holds one reference, from `passRetained` below until its exit.
      return Unmanaged<ThreadRecord>.fromOpaque(record).takeUnretainedValue()
    }
    let record = ThreadRecord()
    record.becomeCurrent()
    return record
  }

  /// Makes it the calling thread's record; that had none before.
  package func becomeCurrent() {
    let here = SystemThread(thread: headgate_thread_self())
    state.withLock { $0.system = here }
    words.pointee.record = Unmanaged.passRetained(self).toOpaque()
    headgate_thread_set_current(words, isManaged ? 1 : 0) { words in
      guard let record = words?.pointee.record else { return }
      Unmanaged<ThreadRecord>.fromOpaque(record).takeUnretainedValue().endOnExit()
    }
  }

  /// Lets go of the thread's values, newest first, while the record is still current; afterwards nobody may ask the
  /// system about the thread any more. The last that the thread does with the library, unless later destructors do.
  package func end() {
    ThreadStorage.destroyAll(in: words)
    // Waits for whoever asks the system about the thread at this moment.
    state.withLock { $0.system = nil }
    headgate_thread_clear_current()
    if let record = words.pointee.record.take() {
      // Balances `passRetained`: the thread exits.
      Unmanaged<ThreadRecord>.fromOpaque(record).release()
    }
  }

  /// The thread exits with its record set: somebody else's thread, or one of ours that left through `pthread_exit`.
  private func endOnExit() {
    guard let core else { return end() }
    core.endWithoutReturning()
  }

  /// Calls `body` with the thread as the system knows it; it can't exit meanwhile. Nil: it hasn't started or has ended.
  package func withSystemThread<Result: Sendable>(_ body: (SystemThread) -> Result) -> Result? {
    state.withLock { state in state.system.map { body($0) } }
  }

  /// The whole name, also where the system cuts it. Of threads that others made, what the system says while they live.
  package var name: String {
    get {
      state.withLock { state in
        if isManaged { return state.name }
        guard let system = state.system else { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
          guard let start = buffer.baseAddress else { return "" }
          headgate_thread_get_name(system.thread, start, 64)
          return String(cString: start)
        }
      }
    }
    set { state.withLock { $0.name = newValue } }
  }

  /// The table of the thread's values, for the thread itself.
  var ownWords: UnsafeMutablePointer<headgate_thread> { words }

  /// Whether the calling thread is this one.
  package var isCurrent: Bool { headgate_thread_current() == words }

  /// Whether the thread was asked to end.
  package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Asks the thread to end, and wakes it if it waits in this library. From any thread; once is enough.
  package func cancel() {
    markCancelled()
    wakeCancelled()
  }

  /// Has something more called when the thread is asked to end: it sleeps elsewhere than on its parker.
  package func onCancel(_ wakeUp: @escaping @Sendable () -> Void) { state.withLock { $0.wakeUp = wakeUp } }

  /// Leaves the permit of `park`, and wakes the thread if it waits for that.
  package func leavePermit() {
    permit.store(true, ordering: .releasing)
    waitParker.unpark()
  }

  /// Takes the permit, if it is there. By the thread itself.
  package func takePermit() -> Bool {
    permit.load(ordering: .relaxed) && permit.exchange(false, ordering: .acquiring)
  }

  /// Asks the thread to end without waking it: whoever does this under a lock calls `wakeCancelled` afterwards.
  package func markCancelled() { cancelled.store(true, ordering: .releasing) }

  /// Wakes the thread, wherever in this library it waits, so that it sees that it was asked to end.
  package func wakeCancelled() {
    waitParker.unpark()
    state.withLock { $0.wakeUp }?()
  }

  /// Takes the request back, for a thread that goes on to other work.
  package func clearCancellation() { cancelled.store(false, ordering: .releasing) }
}
