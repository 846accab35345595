import Synchronization

/// The type-erased base of a task with a handle: the object in the queue.
///
/// It ends exactly once: its body returns or throws, or it is cancelled, discarded or disposed of before it starts.
// Unchecked: the thread that moves `word` from queued to running owns the body until it moves `word` on. The rest is
// constant.
@usableFromInline class PoolJob: @unchecked Sendable {
  @usableFromInline final let core: PoolCore

  // Runs the body and stores its result; returns true for a failure. A function without captures, specialized for the
  // submitter's types: the generic code of a generic class would look up its types on every call.
  @usableFromInline final let run: (PoolJob) -> Bool

  // Two bits of phase, two flags, and above them the phase's payload: the running thread's record (an address, whose
  // low four bits are zero), the outcome of the body, or the reason of a drop. In a single word, start, cancellation
  // and end are atomic with respect to each other.
  private let word = AtomicCell<UInt>(Word.queued)

  private enum Word {
    static let queued: UInt = 0
    static let running: UInt = 1
    static let ended: UInt = 2
    static let dropped: UInt = 3
    static let phase: UInt = 3
    static let hasWaiters: UInt = 4
    static let cancelRequested: UInt = 8
    static let flags: UInt = 12
    static let shift: UInt = 4
  }

  @usableFromInline init(_ core: PoolCore, run: @escaping (PoolJob) -> Bool) {
    self.core = core
    self.run = run
  }

  /// Runs the body and stores its result; returns true if it threw. Called once, by the thread that claimed the job.
  /// The body's captures are released before the end is announced.
  final func perform() -> Bool { withAutoreleasePool { run(self) } }

  /// Releases the body of a job that will not run.
  @usableFromInline func dropBody() {}

  // MARK: States

  /// The task's state at this moment.
  final var state: PoolTaskState {
    let word = word.load(ordering: .acquiring)
    switch word & Word.phase {
    case Word.queued: return .queued
    case Word.running: return .running
    case Word.ended: return word >> Word.shift == 0 ? .succeeded : .failed
    default: return .dropped
    }
  }

  /// Whether the job has ended, whether it ran or not.
  @usableFromInline final var hasEnded: Bool { word.load(ordering: .acquiring) & Word.phase >= Word.ended }

  /// Whether the job was cancelled, before it started or while it ran.
  @usableFromInline final var isCancelled: Bool {
    word.load(ordering: .acquiring) & Word.cancelRequested != 0 || dropReason == .cancelled
  }

  /// The thread that runs it.
  final var performer: ThreadRecord.ID? {
    let word = word.load(ordering: .acquiring)
    return word & Word.phase == Word.running ? word & ~(Word.flags | Word.phase) : nil
  }

  final var isQueued: Bool { word.load(ordering: .relaxed) & Word.phase == Word.queued }

  /// Why the job never ran; nil if it ran or may still run.
  @usableFromInline final var dropReason: PoolTaskErrorCode? {
    let word = word.load(ordering: .acquiring)
    return word & Word.phase == Word.dropped ? PoolTaskErrorCode.drops[Int(word >> Word.shift)] : nil
  }

  /// Claims the job for the calling thread, which then runs it. Returns false if it already runs or has ended.
  final func claim(for record: ThreadRecord) -> Bool {
    // The record outlives the claim: it belongs to the calling thread, which gives up the claim in `finish`.
    let address = UInt(bitPattern: Unmanaged.passUnretained(record).toOpaque())
    return move(from: Word.queued) { $0 & Word.flags | Word.running | address } != nil
  }

  /// Ends the job before it starts. Returns false if it already runs or has ended.
  final func drop(_ reason: PoolTaskErrorCode) -> Bool {
    let reason = UInt(PoolTaskErrorCode.drops.firstIndex(of: reason) ?? 0) << Word.shift
    guard let old = move(from: Word.queued, { $0 & Word.flags | Word.dropped | reason }) else { return false }
    dropBody()
    if old & Word.hasWaiters != 0 { wakeWaiters() }
    return true
  }

  /// Ends the job after its body.
  final func finish(failed: Bool, on record: ThreadRecord) {
    let outcome: UInt = failed ? 1 << Word.shift : 0
    let old = move(from: Word.running) { old in
      if old & Word.cancelRequested != 0 {
        // A canceller marks the thread while it holds this lock, and only while the job runs. After this thread has
        // held the lock, no late mark can affect the thread's next task.
        withExtra { _ in record.clearCancellation() }
      }
      return old & Word.flags | Word.ended | outcome
    }
    if let old, old & Word.hasWaiters != 0 { wakeWaiters() }
  }

  /// Another job is about to run nested inside this one, on its thread. Cancelling this job must not cancel that one.
  final func pause(on record: ThreadRecord) {
    withExtra { extra in
      extra.isPaused = true
      if isCancelled { record.clearCancellation() }
    }
  }

  /// The nested job has ended.
  final func resume(on record: ThreadRecord) {
    withExtra { extra in
      extra.isPaused = false
      if isCancelled { record.markCancelled() }
    }
  }

  /// Changes the word if its phase is still `phase`, or one up to `last`. Returns the old value.
  private func move(from phase: UInt, upTo last: UInt? = nil, _ change: (UInt) -> UInt) -> UInt? {
    var old = word.load(ordering: .acquiring)
    while phase...(last ?? phase) ~= old & Word.phase {
      let (done, found) = word.compareExchange(
        expected: old, desired: change(old), ordering: .acquiringAndReleasing)
      if done { return old }
      old = found
    }
    return nil
  }

  // MARK: Cancelling

  /// Cancels the task. Returns true if it will not start, and false if it has ended or is running; a running task is
  /// notified.
  ///
  /// A queued task ends at once, frees its place in the queue and releases its captures. A running one continues: its
  /// body sees ``ThreadPool/isCancelled``, and its waits in this library end with the code `cancelled`. Other tasks on
  /// its thread are not affected. Can be called from any thread, any number of times. O(1) on average.
  @discardableResult
  @usableFromInline final func cancel() -> Bool {
    if core.drop(self, .cancelled) { return true }
    let record = withExtra { extra -> ThreadRecord? in
      // Only once: a second mark could come after the running thread has checked for one, and would not change the
      // word.
      guard let old = move(from: Word.running, { $0 | Word.cancelRequested }), old & Word.cancelRequested == 0,
        let address = UnsafeRawPointer(bitPattern: old & ~(Word.flags | Word.phase))
      else { return nil }
      // The job is running, so its thread lives, and it cannot leave the job while this lock is held.
      let record = Unmanaged<ThreadRecord>.fromOpaque(address).takeUnretainedValue()
      // Otherwise the mark would affect the nested job.
      guard !extra.isPaused else { return nil }
      record.markCancelled()
      return record
    }
    record?.wakeCancelled()
    return false
  }

  // MARK: Waiting

  /// Adds a waiter. Returns false if the job has ended.
  final func add(_ waiter: Waiter) -> Bool {
    withExtra { extra in
      guard move(from: Word.queued, upTo: Word.running, { $0 | Word.hasWaiters }) != nil else { return false }
      extra.waiters.append(waiter)
      return true
    }
  }

  /// Removes a waiter that has given up.
  final func remove(_ waiter: Waiter) { withExtra { extra in _ = extra.waiters.remove(waiter) } }

  private func wakeWaiters() {
    while let waiter = withExtra({ $0.waiters.claimFirst() }) { waiter.wake() }
  }

  // MARK: State that few jobs have

  /// State of a job that has waiters or a nested job. It is stored apart, behind one of a few locks, so that all other
  /// jobs stay small: F. Pizlo, "Locking in WebKit" (2016), the parking lot.
  private struct Extra: Sendable {
    var waiters = WaitList()
    // Whether a job runs nested inside this one.
    var isPaused = false
  }

  private static let extras = (0..<32).map { _ in LockedBox<[ObjectIdentifier: Extra]>([:]) }

  /// Calls `body` with the job's extra state, under its lock.
  private func withExtra<Value: Sendable>(_ body: (inout Extra) -> Value) -> Value {
    let key = ObjectIdentifier(self)
    #if HEADGATE_EXPLORE
    // Under the explorer a job's address must not decide which lock it uses.
    let place = 0
    #else
    let place = UInt(bitPattern: key) >> 5 & 31
    #endif
    return PoolJob.extras[Int(place)].withLock { extras in
      var extra = extras[key] ?? Extra()
      defer { extras[key] = extra.waiters.isEmpty && !extra.isPaused ? nil : extra }
      return body(&extra)
    }
  }
}

/// A job with its body and storage for its result, in one object.
// Unchecked: as for PoolJob. The fields belong to the thread that has claimed or dropped the job, until its end. Then
// `result` is constant.
@usableFromInline final class ResultJob<Success: ~Copyable, Failure: Error>: PoolJob, @unchecked Sendable {
  // No field's layout depends on the generic types, so the class's own code, above all its destructor, need not look
  // them up. With a `Result` stored inline, every job did so twice. Exclusivity is not checked: the job's word already
  // excludes concurrent access to both fields.
  @exclusivity(unchecked) @usableFromInline var body: (() throws(Failure) -> Success)?
  // Nil for a Void result, which needs no storage.
  @exclusivity(unchecked) @usableFromInline var result: TaskResult<Success, Failure>?

  @inlinable
  init(_ core: PoolCore, body: sending @escaping () throws(Failure) -> Success) {
    self.body = body
    super.init(core) { job in
      // Unchecked: the function is only ever called with an instance of this class.
      let job = unsafeDowncast(job, to: ResultJob<Success, Failure>.self)
      guard let body = job.body.take() else { return false }
      do throws(Failure) {
        let value = try body()
        if Success.self != Void.self { job.result = TaskResult(.success(consume value)) }
        return false
      } catch {
        job.result = TaskResult(.failure(error))
        return true
      }
    }
  }

  @usableFromInline override func dropBody() { body = nil }
}

extension ResultJob where Success: Copyable {
  /// The outcome, once the job has ended.
  // Specialized for the caller's types, like the body.
  @inlinable
  func outcome() throws(PoolTaskError<Failure>) -> Success {
    switch result?.value {
    case .success(let value)?: return value
    case .failure(let error)?: throw PoolTaskError(.failed, failure: error, pool: core.name)
    case nil:
      let reason = dropReason
      if reason == nil, let nothing = () as? Success { return nothing }
      throw PoolTaskError(reason ?? .cancelled, failure: nil, pool: core.name)
    }
  }
}

/// The value that a body returned, or its error.
@usableFromInline
final class TaskResult<Success: ~Copyable, Failure: Error> {
  @usableFromInline var value: Result<Success, Failure>?

  @inlinable init(_ value: consuming Result<Success, Failure>) { self.value = consume value }
}
