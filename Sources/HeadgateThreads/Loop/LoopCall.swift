import Synchronization

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
