import CHeadgate
import Logging
import Synchronization

/// Where lines go: to the delegate, or to one log handler for each source.
///
/// Handlers are made when a source first has something to tell, so that a program can set swift-log up before. Neither the
/// program's delegate nor its log handlers (nor the factory that makes them) are called under a lock.
// Unchecked: `outlets` points to memory that is this object's alone, and to nothing but atomics.
package final class LogOutput: @unchecked Sendable {
  private let current = Locked<(any HeadgateLogDelegate)?>(nil)
  // No AtomicCell for these two: lines have no interleavings to explore.
  // So that lines that go elsewhere take no lock to find that out. Written with that lock held.
  private let hasDelegate = Atomic(false)
  // By the source's number. Set once, and let go of with this object: lines go through them uncounted.
  private let outlets: UnsafeMutablePointer<Atomic<Unmanaged<Outlet>?>>
  private let makeLogger: @Sendable (String) -> Logger

  package init(makeLogger: @escaping @Sendable (String) -> Logger = { Logger(label: $0) }) {
    self.makeLogger = makeLogger
    let count = HeadgateLog.Source.allCases.count
    outlets = .allocate(capacity: count)
    for number in 0..<count { (outlets + number).initialize(to: Atomic(nil)) }
  }

  deinit {
    let count = HeadgateLog.Source.allCases.count
    // Retained by `newOutlet`, once each; nobody else has this object any more.
    for number in 0..<count { outlets[number].load(ordering: .acquiring)?.release() }
    outlets.deinitialize(count: count)
    outlets.deallocate()
  }

  package var delegate: (any HeadgateLogDelegate)? {
    get { current.withLock { $0 } }
    set {
      // The old one leaves the lock before it is let go.
      let old = current.withLock { current in
        defer { current = newValue }
        hasDelegate.store(newValue != nil, ordering: .relaxed)
        return current
      }
      _ = consume old
    }
  }

  @inline(never)
  package func write(_ source: HeadgateLog.Source, _ level: Logger.Level, _ message: consuming String) {
    // How many calls of the program's own, into which this thread has gone to tell something, it is inside of: a line
    // that it causes there takes the next way down, and none after the last.
    let depth = headgate_log_depth()
    guard depth < 2 else { return }
    defer { headgate_set_log_depth(depth) }
    // Whoever saw the source switched on sees the delegate that was set before that, too.
    atomicMemoryFence(ordering: .acquiring)
    // Relaxed: whoever sees that there is one finds it under the lock.
    if depth == 0, hasDelegate.load(ordering: .relaxed), let delegate {
      headgate_set_log_depth(1)
      delegate.headgateLog(LogLine.format(source, level, message), source: source)
    } else {
      headgate_set_log_depth(2)
      // Stays with the output, which our caller holds during this call.
      let outlet = outlets[source.number].load(ordering: .acquiring) ?? newOutlet(source)
      LogThread.tell(outlet, level, message)
    }
  }

  /// Called at depth 2: the factory, which is the program's, may use Headgate too.
  @inline(never)
  private func newOutlet(_ source: HeadgateLog.Source) -> Unmanaged<Outlet> {
    var logger = makeLogger("headgate.\(source)")
    // Which sources tell is decided by the switches, not by a level.
    logger.logLevel = .debug
    // Balanced in `deinit`.
    let new = Unmanaged.passRetained(Outlet(logger.handler))
    let (isFirst, kept) = outlets[source.number].compareExchange(
      expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard !isFirst, let kept else { return new }
    // Two threads have made one at the same time. Both keep the first.
    new.release()
    return kept
  }
}

/// A logger's handler, in a place where it need not be copied: a logger copies it, and what it tells, for each line.
final class Outlet: Sendable {
  private let handler: any LogHandler

  init(_ handler: any LogHandler) { self.handler = handler }

  func write(_ event: LogEvent) {
    // As a logger does: a handler may keep to a level of its own.
    if handler.logLevel <= event.level { handler.log(event: event) }
  }
}
