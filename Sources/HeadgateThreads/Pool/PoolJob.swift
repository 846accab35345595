import Synchronization

// Unchecked: whoever moves `word` from queued to running owns the body until he moves it on; `waiters`, `isPaused` and `waitsFor`
// are guarded by the locks named there; `below` is read by the thread that runs the job only.
/// A task that a pool was given, without the type of its result: what every ``PoolTask`` is.
///
/// It ends once: its body returns or throws, or it is cancelled, discarded or disposed of before it starts.
public class PoolJob: @unchecked Sendable {
  // Unchecked: whoever moves `word` from queued to running owns the body until he moves it on; `waiters`, `isPaused` and `waitsFor`
  // are guarded by the locks named there; `below` is read by the thread that runs the job only.

  /// Where a task stands.
  public struct State: Hashable, Sendable, CustomStringConvertible {
    /// Its name.
    public let description: String

    /// It waits in the pool.
    public static let queued = State(description: "queued")
    /// Its body runs.
    public static let running = State(description: "running")
    /// Its body has returned.
    public static let succeeded = State(description: "succeeded")
    /// Its body has thrown.
    public static let failed = State(description: "failed")
    /// It was cancelled, discarded or disposed of before it started, and never will.
    public static let dropped = State(description: "dropped")
  }

  @usableFromInline final let core: PoolCore

  // What there is to do: stores `result`, and is true if that is a failure. Code of the submitter's, compiled for the
  // types of its result, since the generic code of a generic class looks its types up at every turn.
  private final var work: ((PoolJob) -> Bool)?
  // A Result of the types of the PoolTask that this is; constant once the job has ended. As Any it stands inside the job
  // if it is small, and knows how to destroy itself. nil for nothing, which needs no place.
  @usableFromInline final var result: Any?

  // Two bits of phase, two flags, and above them what the phase needs: the record of the running thread (an object's
  // address, of which the low four bits are zero), the outcome of the body, or the reason of the drop. One word, so that
  // a start, a cancel and an end can't half meet.
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

  // Under `PoolJob.lock(of:)`.
  private var waiters = WaitList()
  // Another job runs in its midst.
  private var isPaused = false
  /// The job that this one's thread waits for, or runs in its midst. Under `PoolWaits.lock`.
  unowned(unsafe) var waitsFor: PoolJob?
  /// The job in whose midst this one runs.
  unowned(unsafe) var below: PoolJob?

  @usableFromInline init(_ core: PoolCore, _ work: sending @escaping (PoolJob) -> Bool) {
    self.core = core
    self.work = work
  }

  @usableFromInline final var poolName: String { core.name }

  /// Runs the body and keeps its result; true if it threw. Once, by who has claimed the job. What the body captured goes
  /// before anybody hears of the end.
  final func perform() -> Bool {
    guard let work = work.take() else { return false }
    return withAutoreleasePool { work(self) }
  }

  // MARK: States

  /// Where the task stands at this moment.
  public final var state: State {
    let word = word.load(ordering: .acquiring)
    switch word & Word.phase {
    case Word.queued: return .queued
    case Word.running: return .running
    case Word.ended: return word >> Word.shift == 0 ? .succeeded : .failed
    default: return .dropped
    }
  }

  /// Whether it has come to its end, with or without having run.
  public final var hasEnded: Bool { word.load(ordering: .acquiring) & Word.phase >= Word.ended }

  /// Whether it was cancelled: before it started, or while it ran.
  public final var isCancelled: Bool {
    word.load(ordering: .acquiring) & Word.cancelRequested != 0 || dropReason == .cancelled
  }

  final var isQueued: Bool { word.load(ordering: .relaxed) & Word.phase == Word.queued }

  /// Why it never ran; nil if it did, or still may.
  @usableFromInline final var dropReason: PoolTaskErrorCode? {
    let word = word.load(ordering: .acquiring)
    return word & Word.phase == Word.dropped ? PoolTaskErrorCode(drop: word >> Word.shift) : nil
  }

  /// Makes the calling thread the one that runs it. False: it runs or has ended already.
  final func claim(for record: ThreadRecord) -> Bool {
    // The record outlives the claim: its thread is the caller, which gives it up in `finish`.
    let address = UInt(bitPattern: Unmanaged.passUnretained(record).toOpaque())
    return move(from: Word.queued) { $0 & Word.flags | Word.running | address } != nil
  }

  /// Ends it before it has started. False: it runs or has ended already.
  final func drop(_ reason: PoolTaskErrorCode) -> Bool {
    guard let old = move(from: Word.queued, { $0 & Word.flags | Word.dropped | reason.drop << Word.shift }) else {
      return false
    }
    work = nil
    if old & Word.hasWaiters != 0 { wakeWaiters() }
    return true
  }

  /// Ends it after its body.
  final func finish(failed: Bool, on record: ThreadRecord) {
    let outcome: UInt = failed ? 1 << Word.shift : 0
    var old = word.load(ordering: .relaxed)
    while true {
      if old & Word.cancelRequested != 0 {
        // Whoever cancels marks the thread while holding this lock, and only while the job runs: once we have held it,
        // no late mark can hit the thread's next task.
        lock.withLock { _ in record.clearCancellation() }
      }
      let (done, found) = word.compareExchange(
        expected: old, desired: old & Word.flags | Word.ended | outcome, ordering: .acquiringAndReleasing)
      if done { break }
      old = found
    }
    if old & Word.hasWaiters != 0 { wakeWaiters() }
  }

  /// Another job is about to run on this one's thread, in its midst: a request to end this one is none to end that.
  final func pause(on record: ThreadRecord) {
    lock.withLock { _ in
      isPaused = true
      if isCancelled { record.clearCancellation() }
    }
  }

  /// The other job has ended.
  final func goOn(on record: ThreadRecord) {
    lock.withLock { _ in
      isPaused = false
      if isCancelled { record.markCancelled() }
    }
  }

  /// Moves the word on if its phase is still `phase`, and returns what it was.
  private func move(from phase: UInt, _ change: (UInt) -> UInt) -> UInt? {
    var old = word.load(ordering: .relaxed)
    while old & Word.phase == phase {
      let (done, found) = word.compareExchange(
        expected: old, desired: change(old), ordering: .acquiringAndReleasing)
      if done { return old }
      old = found
    }
    return nil
  }

  // MARK: Cancelling

  /// Asks the task to end. True if it will not start; false if it runs, in which case it is told, or has ended.
  ///
  /// A waiting task ends at once, frees its place in the queue and lets go of what it captured. A running one goes on: its
  /// body sees ``ThreadPool/isCancelled``, and what it waits for in this library ends with the code `cancelled`. No other
  /// task of its thread is touched. From any thread, any number of times; O(1), in the mean.
  @discardableResult
  public final func cancel() -> Bool {
    if core.drop(self, .cancelled) { return true }
    let record = lock.withLock { _ -> ThreadRecord? in
      // Once only: a second mark might follow the runner's look at it, and leave the word as it was.
      guard let old = move(from: Word.running, { $0 | Word.cancelRequested }), old & Word.cancelRequested == 0,
        let address = UnsafeRawPointer(bitPattern: old & ~(Word.flags | Word.phase))
      else { return nil }
      // The job runs, so its thread lives; it can't leave the job while we hold the lock.
      let record = Unmanaged<ThreadRecord>.fromOpaque(address).takeUnretainedValue()
      // Otherwise the mark would be taken for one of the job that runs in its midst.
      guard !isPaused else { return nil }
      record.markCancelled()
      return record
    }
    record?.wakeCancelled()
    return false
  }

  // MARK: Waiting

  /// Adds one who waits for the end. False: it has come.
  final func add(_ waiter: Waiter) -> Bool {
    lock.withLock { _ in
      var old = word.load(ordering: .acquiring)
      while old & Word.phase < Word.ended {
        let (done, found) = word.compareExchange(
          expected: old, desired: old | Word.hasWaiters, ordering: .acquiringAndReleasing)
        if done {
          waiters.append(waiter)
          return true
        }
        old = found
      }
      return false
    }
  }

  /// Takes one out who has given up.
  final func remove(_ waiter: Waiter) { lock.withLock { _ in _ = waiters.remove(waiter) } }

  private func wakeWaiters() {
    while let waiter = lock.withLock({ _ in waiters.claimFirst() }) { waiter.wake() }
  }

  // A lock a job would make every job longer for the few that somebody waits for or cancels. These are held for a few
  // instructions then.
  private static let locks = (0..<32).map { _ in LockedBox(()) }

  private var lock: LockedBox<Void> {
    #if HEADGATE_EXPLORE
    // Where a job stands in memory must not decide whom it waits for.
    return PoolJob.locks[0]
    #else
    let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    return PoolJob.locks[Int(address >> 5 & 31)]
    #endif
  }
}
