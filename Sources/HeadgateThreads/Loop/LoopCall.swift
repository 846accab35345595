import Synchronization

/// What a loop waits for when it waits for another: which loop has to do it, and whether that is over.
protocol LoopAwaited: AnyObject, Sendable {
  var core: LoopCore { get }
  var isDecided: Bool { get }
}

/// A call that somebody waits for: done, taken back, or refused by the loop's stop.
// Unchecked: `body` and `outcome` belong to whoever has moved `progress`: to the sender before anything, to the loop
// from `running` on, to the sender again from `finished` on.
final class LoopCall<Value: ~Copyable, Failure: Error>: LoopEntry, LoopAwaited, @unchecked Sendable {
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

  var isDecided: Bool { waiter.outcome != .pending }

  private func advance(from old: Progress = .waiting, to new: Progress) -> Bool {
    progress.compareExchange(expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing).exchanged
  }

  func perform(on core: LoopCore) {
    guard advance(to: .running), let body = body.take() else { return }
    do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
    progress.store(Progress.finished.rawValue, ordering: .releasing)
    waiter.end(.woken)
  }

  func leaveUndone() {
    guard advance(to: .refused) else { return }
    body = nil
    waiter.end(.woken)
  }

  /// What came of it, for the sender, when its wait has ended.
  func conclude(_ end: Waiter.Outcome, since start: Deadline) throws(PerformError<Failure>) -> sending Value {
    if end != .woken, advance(to: .withdrawn) {
      // It stays in the inbox as an empty shell; what it held goes now.
      body = nil
      throw .notPerformed(error(end, since: start))
    }
    switch Progress(rawValue: progress.load(ordering: .acquiring)) {
    // Also when the wait ended otherwise at the same moment: a result that is there is not thrown away.
    case .finished:
      guard let outcome = outcome.take() else { break }
      switch consume outcome {
      case .success(let value): return value
      case .failure(let failure): throw .failed(failure)
      }
    case .running: throw .stillRunning(error(end, since: start))
    default: break
    }
    throw .notPerformed(WaitError(.closed, operation: core.waitName, waited: .now - start))
  }

  private func error(_ end: Waiter.Outcome, since start: Deadline) -> WaitError {
    WaitError(end == .cancelled ? .cancelled : .timedOut, operation: core.waitName, waited: .now - start)
  }
}

extension LoopCore {
  var waitName: String { "performAndWait on the loop \"\(name)\"" }
}

/// Which loop waits for which: seen whole, so that two that would wait for each other are told at once.
///
/// An edge goes from a loop to the call that its thread is blocked on. A circle of edges that are all undecided stays
/// one until a deadline, so whoever would close it is refused instead. O(the circle); only loops that wait for loops
/// come here.
enum LoopWaits {
  private static let edges = Locked<[ObjectIdentifier: any LoopAwaited]>([:])

  /// False: it would never be woken.
  static func begin(_ waiting: LoopCore, for call: some LoopAwaited) -> Bool {
    edges.withLock { edges in
      var target = call.core
      while let next = edges[ObjectIdentifier(target)], !next.isDecided {
        target = next.core
        if target === waiting { return false }
      }
      edges[ObjectIdentifier(waiting)] = call
      return true
    }
  }

  static func end(_ waiting: LoopCore) {
    // The call leaves the lock before it may be let go.
    let call = edges.withLock { $0.removeValue(forKey: ObjectIdentifier(waiting)) }
    _ = consume call
  }
}
