import CHeadgate
import Logging
import Synchronization

/// The destination of log lines: the delegate, or one log handler for each source.
///
/// A source's handler is created when its first line is logged, so that the program can configure swift-log beforehand.
/// The program's delegate, log handlers and their factory are never called under a lock.
// Unchecked: `outlets` points to memory owned by this object, which contains only atomics.
package final class LogOutput: @unchecked Sendable {
  private let current = Locked<(any HeadgateLogDelegate)?>(nil)
  // Not AtomicCells: there are no interleavings to explore in logging.
  // Lets lines skip the lock when there is no delegate. Written under that lock.
  private let hasDelegate = Atomic(false)
  // Indexed by the source's number. Set once, and released with this object, so lines need no reference counting.
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
    // Retained once each by `newOutlet`. There is no other reference to this object now.
    for number in 0..<count { outlets[number].load(ordering: .acquiring)?.release() }
    outlets.deinitialize(count: count)
    outlets.deallocate()
  }

  package var delegate: (any HeadgateLogDelegate)? {
    get { current.withLock { $0 } }
    set {
      // Removed under the lock, released after it.
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
    // The nesting depth of the program's delegate and handler on this thread. A line logged inside the delegate goes to
    // swift-log; one logged inside a swift-log handler is dropped.
    let depth = headgate_log_depth()
    guard depth < 2 else { return }
    defer { headgate_set_log_depth(depth) }
    // A thread that saw the source enabled also sees a delegate that was set before the source was enabled.
    atomicMemoryFence(ordering: .acquiring)
    // Relaxed is enough: the delegate itself is read under the lock.
    if depth == 0, hasDelegate.load(ordering: .relaxed), let delegate {
      headgate_set_log_depth(1)
      delegate.headgateLog(LogLine.format(source, level, message), source: source)
    } else {
      headgate_set_log_depth(2)
      // The outlet is retained by the output, which the caller retains during this call.
      let outlet = outlets[source.number].load(ordering: .acquiring) ?? newOutlet(source)
      LogThread.tell(outlet, level, message)
    }
  }

  /// Called at depth 2: the factory belongs to the program and may use Headgate too.
  @inline(never)
  private func newOutlet(_ source: HeadgateLog.Source) -> Unmanaged<Outlet> {
    var logger = makeLogger("headgate.\(source)")
    // The switches decide which sources log, not the level.
    logger.logLevel = .debug
    // Balanced in `deinit`.
    let new = Unmanaged.passRetained(Outlet(logger.handler))
    let (isFirst, kept) = outlets[source.number].compareExchange(
      expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard !isFirst, let kept else { return new }
    // Two threads have created one at the same time. Both use the first.
    new.release()
    return kept
  }
}

/// A log handler that is called without copying: a logger copies the handler and the event for each line.
final class Outlet: Sendable {
  private let handler: any LogHandler

  init(_ handler: any LogHandler) { self.handler = handler }

  func write(_ event: LogEvent) {
    // Like a logger: a handler may have a level of its own.
    if handler.logLevel <= event.level { handler.log(event: event) }
  }
}
