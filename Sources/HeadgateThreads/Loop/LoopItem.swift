/// One thing in a loop's inbox. Closures and jobs stand in it as they are: no box of their own, so that a job costs no
/// allocation at all.
enum LoopItem: Sendable {
  case closure(LoopClosure)
  case entry(any LoopEntry)
  /// To be run as the loop's serial executor, which is who took it.
  case serialJob(UnownedJob)
  /// To be run as the loop's task executor.
  case taskJob(UnownedJob)
}

/// Something that wants to know how it ends: exactly one of the two is called, once.
protocol LoopEntry: AnyObject, Sendable {
  /// Does it, on the loop.
  func perform(on core: LoopCore)

  /// The loop stopped before. On whatever thread ends the loop.
  func leaveUndone()
}

/// A closure in a struct of its own: a bare function type in raw memory miscompiles in release builds of Swift 6.3.
// Unchecked: the closure was sent to the loop, which calls it on its one thread or lets it go.
struct LoopClosure: @unchecked Sendable {
  let body: () throws -> Void
}

/// A closure whose sender wants to be told when it will not be called.
final class LoopNoticedClosure: LoopEntry {
  private let closure: LoopClosure
  private let onCancel: @Sendable () -> Void

  init(_ closure: LoopClosure, onCancel: @escaping @Sendable () -> Void) {
    self.closure = closure
    self.onCancel = onCancel
  }

  func perform(on core: LoopCore) { core.call(closure) }

  func leaveUndone() { onCancel() }
}

/// A closure that is called at any price: on the loop, or by whoever ends the loop.
final class LoopNotice: LoopEntry {
  private let closure: LoopClosure

  init(_ closure: LoopClosure) { self.closure = closure }

  func perform(on core: LoopCore) { core.call(closure) }

  func leaveUndone() { try? closure.body() }
}

/// What only the loop's thread touches: what it has taken out of the inbox and not done yet. A nested run goes on with
/// it where the outer one stopped, so that the order stays.
struct LoopAgenda {
  private(set) var batch: [LoopItem] = []
  private var nextItem = 0
  private(set) var signalled: [LoopSource?] = []
  private var nextSource = 0
  var events: [PollEvent] = []
  var hasDueTimers = false
  /// The number of the last wait for descriptors: what was watched later can't be meant by its events.
  var wait: UInt64 = 0

  var isBatchDone: Bool { nextItem == batch.count }
  var areSourcesDone: Bool { nextSource == signalled.count }
  var hasWork: Bool { !isBatchDone || !areSourcesDone || hasDueTimers || !events.isEmpty }

  /// Swaps the emptied batch for a full inbox.
  mutating func refill(from inbox: inout [LoopItem]) {
    // A burst of a million must not keep its memory for ever; what comes and goes in usual numbers needs no new memory.
    if batch.capacity > 16_384 { batch = [] } else { batch.removeAll(keepingCapacity: true) }
    nextItem = 0
    swap(&batch, &inbox)
  }

  mutating func refill(from sources: inout [LoopSource?]) {
    signalled.removeAll(keepingCapacity: true)
    nextSource = 0
    swap(&signalled, &sources)
  }

  /// The next item, which leaves the batch, so that what its closure holds goes as soon as it was called.
  mutating func takeItem() -> LoopItem? {
    guard nextItem < batch.count else { return nil }
    defer { nextItem += 1 }
    let item = batch[nextItem]
    batch[nextItem] = .closure(Self.nothing)
    return item
  }

  mutating func takeSource() -> LoopSource? {
    guard nextSource < signalled.count else { return nil }
    defer { nextSource += 1 }
    // Taken out, so that none is let go of under the lock, where the list is emptied.
    return signalled[nextSource].take()
  }

  private static let nothing = LoopClosure {}
}
