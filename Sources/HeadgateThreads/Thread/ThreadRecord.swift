import CHeadgate
import Synchronization

/// The purpose of a thread, which determines its signal mask and whether it may block and be cancelled.
@usableFromInline
package enum ThreadKind: Sendable {
  /// Not started by this library.
  case foreign
  /// A thread of the program. It inherits its creator's signal mask.
  case program
  /// A thread of the library for the program's work, which may block and be cancelled.
  case work
  /// A thread of the library for closures from many callers, which may block.
  case loop
  /// A thread of the library that other threads depend on: it must not block.
  case service
}

/// The library's data about one thread: where it sleeps, whether it was cancelled, its thread-local values.
///
/// A thread started by the library has a record from its first line on. A foreign thread (the main thread, pthread,
/// libdispatch) gets one when it first needs it and loses it when it exits.
// Unchecked: `words` is a constant pointer, and the memory belongs to the thread whose current record this is (it is
// not used before that). `core` is set before the thread starts. The rest is constant, locked or atomic.
package final class ThreadRecord: @unchecked Sendable {
  /// Where every wait of the thread sleeps: the library's own waits and ``ManagedThread/park(until:)``. Every sleeper
  /// checks its own condition in a loop, so a token left over from an earlier wait is harmless.
  package let waitParker = Parker()

  /// The permit of ``ManagedThread/park(until:)``, a stored notification. Only the thread itself waits for it.
  let permit = Locked(Notify.State())

  package let kind: ThreadKind

  /// Whether this library started the thread.
  package var isManaged: Bool { kind != .foreign }

  /// Whether the thread may be cancelled. False for threads of loops and timers, which run work of many callers.
  var isCancellable: Bool { kind == .program || kind == .work }

  /// What the thread runs, and the waiters for its end; nil for foreign threads.
  unowned(unsafe) var core: ThreadCore?

  /// Identifies the thread while it lives: the record's address.
  typealias ID = UInt
  var id: ID { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

  private let words: UnsafeMutablePointer<headgate_thread>
  private let cancelled = AtomicCell<Bool>(false)
  // Nanoseconds; 0 while the thread does not sleep. Read only by dumps, so no algorithm depends on it.
  private let asleep = Atomic<UInt64>(0)
  private let state: Locked<State>

  /// The system's thread, usable while it lives.
  package struct SystemThread: Sendable {
    package let thread: UInt
    package var number: UInt64 { headgate_thread_system_number(thread) }
  }

  private struct State {
    var name: String
    // Non-nil while the thread lives.
    var system: SystemThread?
    var wakeUp: (@Sendable () -> Void)?
  }

  /// Creates a record for a thread that is about to start.
  package init(name: String, kind: ThreadKind = .program) {
    self.kind = kind
    state = Locked(State(name: name))
    words = .allocate(capacity: 1)
    words.initialize(to: headgate_thread(record: nil, locals: nil, capacity: 0, newest: -1))
  }

  package convenience init() { self.init(name: "", kind: .foreign) }

  deinit {
    words.pointee.locals?.deallocate()
    words.deallocate()
  }

  /// The calling thread's record. Takes a few instructions once it exists.
  package static var current: ThreadRecord {
    if let record = headgate_thread_current()?.pointee.record {
      // The thread holds one reference, from `passRetained` below until its exit.
      return Unmanaged<ThreadRecord>.fromOpaque(record).takeUnretainedValue()
    }
    let record = ThreadRecord()
    record.becomeCurrent()
    return record
  }

  /// Makes this the record of the calling thread, which must not have one.
  package func becomeCurrent() {
    let here = SystemThread(thread: headgate_thread_self())
    state.withLock { $0.system = here }
    words.pointee.record = Unmanaged.passRetained(self).toOpaque()
    DumpRegistry.add(self)
    headgate_thread_set_current(words, isManaged ? 1 : 0) { words in
      guard let record = words?.pointee.record else { return }
      Unmanaged<ThreadRecord>.fromOpaque(record).takeUnretainedValue().endOnExit()
    }
  }

  /// Destroys the thread's values, newest first, while the record is still current. Afterwards the system is no longer
  /// queried about the thread. This is the thread's last use of the library, unless later destructors use it.
  package func end() {
    ThreadStorage.destroyAll(in: words)
    DumpRegistry.remove(self)
    // Waits for threads that are querying the system about this thread.
    state.withLock { $0.system = nil }
    headgate_thread_clear_current()
    if let record = words.pointee.record.take() {
      // Balances `passRetained`: the thread exits.
      Unmanaged<ThreadRecord>.fromOpaque(record).release()
    }
  }

  /// The thread exits with its record still set: a foreign thread, or one of ours that called `pthread_exit`.
  private func endOnExit() {
    guard let core else { return end() }
    core.endWithoutReturning()
  }

  /// Calls `body` with the system's thread, which cannot exit meanwhile. Returns nil if it has not started or has
  /// ended.
  package func withSystemThread<Value: Sendable>(_ body: (SystemThread) -> Value) -> Value? {
    state.withLock { state in state.system.map { body($0) } }
  }

  /// The full name, even if the system truncates it. For foreign threads: the system's name while they live.
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

  /// A readable text: the name, or the system's number for a thread without a name.
  var title: String {
    let name = name
    if !name.isEmpty { return "thread \"\(name)\"" }
    return withSystemThread { "thread \($0.number)" } ?? "a thread"
  }

  /// The table of the thread's values. For the thread itself only.
  var ownWords: UnsafeMutablePointer<headgate_thread> { words }

  /// Whether the calling thread is this one.
  package var isCurrent: Bool { headgate_thread_current() == words }

  /// Whether the thread was cancelled.
  package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Cancels the thread and wakes it if it waits in this library. Can be called from any thread. Idempotent.
  package func cancel() {
    markCancelled()
    wakeCancelled()
  }

  /// Sleeps on the parker, and records when the sleep began, for dumps.
  package func park(until deadline: Deadline) {
    asleep.store(headgate_now(), ordering: .relaxed)
    _ = waitParker.park(until: deadline)
    asleep.store(0, ordering: .relaxed)
  }

  /// When the thread went to sleep on its parker; nil if it does not sleep.
  var sleepsSince: Deadline? {
    let moment = asleep.load(ordering: .relaxed)
    return moment == 0 ? nil : Deadline(nanoseconds: moment)
  }

  /// Sets an additional callback for cancellation, for a thread that may sleep somewhere other than on its parker.
  package func onCancel(_ wakeUp: @escaping @Sendable () -> Void) { state.withLock { $0.wakeUp = wakeUp } }

  /// Leaves the permit of `park`, and wakes the thread if it waits for it.
  package func leavePermit() {
    let waiter = permit.withLock { $0.notifyOne() }
    waiter?.wake()
  }

  /// Marks the thread as cancelled without waking it. For use under a lock; call `wakeCancelled` after releasing it.
  package func markCancelled() { cancelled.store(true, ordering: .releasing) }

  /// Wakes the thread from any wait in this library, so that it notices its cancellation.
  package func wakeCancelled() {
    waitParker.unpark()
    state.withLock { $0.wakeUp }?()
  }

  /// Clears the cancellation, for a thread that goes on to other work.
  package func clearCancellation() { cancelled.store(false, ordering: .releasing) }
}
