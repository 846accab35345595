import Synchronization

/// An item in a loop's inbox. Closures and jobs are stored inline, so that a job costs no allocation.
enum LoopItem: Sendable {
  case closure(Closure)
  case entry(any LoopEntry)
  /// A signalled source.
  case source(LoopSource)
  /// Runs as the loop's serial executor, which accepted it.
  case serialJob(UnownedJob)
  /// Runs as the loop's task executor.
  case taskJob(UnownedJob)
}

/// An item that is notified of its end: exactly one of the two methods is called, once.
protocol LoopEntry: AnyObject, Sendable {
  /// Performs it, on the loop.
  func perform(on core: LoopCore)

  /// Called if the loop stops first, on the thread that ends the loop.
  func drop()
}

/// A closure with an `onDrop` for the case that it is not called. Without `onDrop`, the closure itself is called in
/// any case: on the loop, or on the thread that ends the loop.
final class LoopNotice: LoopEntry {
  private let closure: Closure
  private let onDrop: (@Sendable () -> Void)?

  init(_ closure: Closure, onDrop: (@Sendable () -> Void)? = nil) {
    self.closure = closure
    self.onDrop = onDrop
  }

  func perform(on core: LoopCore) { core.call(closure) }

  func drop() { if let onDrop { onDrop() } else { try? closure() } }
}

/// State of the loop's thread: items taken out of the inbox and not yet performed. A nested run continues where the
/// outer one stopped, so that the order is kept.
struct LoopAgenda {
  private(set) var batch: [LoopItem] = []
  private var nextItem = 0
  var events: [PollEvent] = []
  var hasDueTimers = false
  /// The number of the last poll. Events of that poll do not concern watches added later.
  var wait: UInt64 = 0

  var isBatchDone: Bool { nextItem == batch.count }
  var hasWork: Bool { !isBatchDone || hasDueTimers || !events.isEmpty }

  /// Swaps the emptied batch for a full inbox.
  mutating func refill(from inbox: inout [LoopItem]) {
    // The memory of a large burst is released; that of an ordinary amount is reused.
    if batch.capacity > 16_384 { batch = [] } else { batch.removeAll(keepingCapacity: true) }
    nextItem = 0
    swap(&batch, &inbox)
  }

  /// Removes the next item from the batch, so that its captures are released as soon as it has been called.
  mutating func takeItem() -> LoopItem? {
    guard nextItem < batch.count else { return nil }
    defer { nextItem += 1 }
    let item = batch[nextItem]
    batch[nextItem] = .closure(Self.nothing)
    return item
  }

  private static let nothing = Closure {}
}

/// A call whose sender waits for its result: performed, withdrawn, or refused by the loop's stop.
// Unchecked: `body` and `outcome` belong to the side that has advanced `progress`: to the sender at first, to the loop
// from `running` on, and to the sender again from `finished` on.
final class LoopCall<Value: ~Copyable, Failure: Error>: LoopEntry, WaitTarget, @unchecked Sendable {
  private enum Progress: UInt8 {
    case waiting, running, finished, withdrawn, refused
  }

  typealias Body = () throws(Failure) -> sending Value

  let core: LoopCore
  let waiter: Waiter
  private let progress = AtomicCell<UInt8>(Progress.waiting.rawValue)
  private var body: Body?
  private var outcome: Result<Value, Failure>?

  init(_ core: LoopCore, _ waiter: Waiter, _ body: sending @escaping Body) {
    self.core = core
    self.waiter = waiter
    self.body = body
  }

  var performer: ThreadRecord.ID? { waiter.outcome == .pending ? core.performer : nil }
  var waitName: String { "loop \"\(core.name)\"" }

  private func advance(from old: Progress = .waiting, to new: Progress) -> Bool {
    progress.compareExchange(expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing).exchanged
  }

  func perform(on core: LoopCore) {
    guard advance(to: .running), let body = body.take() else { return }
    do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
    progress.store(Progress.finished.rawValue, ordering: .releasing)
    waiter.end(.woken)
  }

  func drop() {
    guard advance(to: .refused) else { return }
    body = nil
    waiter.end(.woken)
  }

  /// Returns the result to the sender, or throws, after its wait has ended.
  func conclude(_ end: Waiter.Outcome, since start: Deadline) throws(PerformError<Failure>) -> sending Value {
    if end != .woken, advance(to: .withdrawn) {
      // It stays in the inbox as an empty shell. The body is released now.
      body = nil
      throw PerformError(.notCalled, reason: error(end, since: start))
    }
    switch Progress(rawValue: progress.load(ordering: .acquiring)) {
    // Even if the wait ended for another reason at the same moment: an available result is not discarded.
    case .finished:
      guard let outcome = outcome.take() else { break }
      switch consume outcome {
      case .success(let value): return value
      case .failure(let failure): throw PerformError(.failed, failure: failure)
      }
    case .running: throw PerformError(.stillRunning, reason: error(end, since: start))
    default: break
    }
    throw PerformError(
      .notCalled, reason: WaitError(.closed, operation: core.callName, waited: .now - start))
  }

  private func error(_ end: Waiter.Outcome, since start: Deadline) -> WaitError {
    WaitError(WaitError.Code(end) ?? .closed, operation: core.callName, waited: .now - start)
  }
}

/// The closures of a source: called on the loop any number of times, and ended once.
// Unchecked: `isRunning` belongs to the loop's thread; the rest is locked.
final class LoopHandler: @unchecked Sendable {
  private struct Closures {
    var body: Closure?
    var onCancel: Closure?
  }

  private let closures: Locked<Closures>
  /// Whether a call is in progress. On the loop's thread; only a nested run can see true.
  private(set) var isRunning = false
  // An `onCancel` that waits for the end of the call in progress. On the loop's thread too.
  private var ending: Closure?

  init(_ body: Closure, onCancel: Closure?) {
    closures = Locked(Closures(body: body, onCancel: onCancel))
  }

  var isEnded: Bool { closures.withLock { $0.body == nil } }

  /// Calls the handler, on the loop. Returns false if it was ended.
  func call(on core: LoopCore) -> Bool {
    guard let body = closures.withLock({ $0.body }) else { return false }
    isRunning = true
    core.call(body)
    isRunning = false
    if let ending = ending.take() { core.call(ending) }
    return true
  }

  /// Ends the handler: no further call starts. Returns whether this call ended it, and the notice to perform then.
  func end() -> (isMine: Bool, notice: LoopNotice?) {
    // Removed under the lock, released after it.
    var old = Closures()
    closures.withLock { swap(&$0, &old) }
    let notice = old.onCancel.map { onCancel in
      LoopNotice(Closure { [self] in if isRunning { ending = onCancel } else { try onCancel() } })
    }
    return (old.body != nil, notice)
  }
}
