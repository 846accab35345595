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
