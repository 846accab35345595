import CHeadgate
import Logging

/// Where lines go: to the delegate, or to one log handler for each source.
///
/// Handlers are made when a source first has something to tell, so that a program can set swift-log up before. Neither the
/// program's delegate nor its log handlers (nor the factory that makes them) are called under the lock.
package final class LogOutput: Sendable {
  private struct State {
    var delegate: (any HeadgateLogDelegate)?
    // By the source's number. Set once, and never replaced or taken out: lines go through them uncounted.
    var outlets: [Outlet?] = Array(repeating: nil, count: HeadgateLog.Source.allCases.count)
    var threads = LogThreads()
  }

  private let state = Locked(State())
  private let makeLogger: @Sendable (String) -> Logger
  // What every line has: made anew with a line's own parts, an event would be copied as a whole.
  private let blank = LogEvent(
    level: .debug, message: "", metadata: nil, source: nil, file: #fileID, function: "write(_:_:_:)", line: #line)

  package init(makeLogger: @escaping @Sendable (String) -> Logger = { Logger(label: $0) }) {
    self.makeLogger = makeLogger
  }

  package var delegate: (any HeadgateLogDelegate)? {
    get { state.withLock { $0.delegate } }
    set {
      // The old one leaves the lock before it is let go.
      let old = state.withLock { state in
        defer { state.delegate = newValue }
        return state.delegate
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
    let tag = LogThreads.Tag.current
    let (delegate, outlet, metadata) = state.withLock { state in
      (
        depth == 0 ? state.delegate : nil, state.outlets[source.number].map(Unmanaged.passUnretained),
        tag.flatMap { state.threads.metadata($0) }
      )
    }
    headgate_set_log_depth(delegate == nil ? 2 : 1)
    defer { headgate_set_log_depth(depth) }
    if let delegate {
      delegate.headgateLog(LogLine.format(source, level, message), source: source)
    } else {
      var event = blank
      event.level = level
      // As it is: interpolated into another one it would be copied.
      event.message = Logger.Message(stringLiteral: message)
      event.metadata = metadata ?? newMetadata(tag)
      // Stays in the state, and the state in the output, which our caller holds during this call.
      (outlet ?? newOutlet(source))._withUnsafeGuaranteedRef { $0.write(event) }
    }
  }

  private func newMetadata(_ tag: LogThreads.Tag?) -> Logger.Metadata {
    let metadata: Logger.Metadata = ["thread": .string(LogLine.threadName())]
    // That of another thread, whose place it takes, is let go out here.
    if let tag { _ = state.withLock { $0.threads.keep(metadata, for: tag) } }
    return metadata
  }

  /// Called at depth 2: the factory, which is the program's, may use Headgate too.
  private func newOutlet(_ source: HeadgateLog.Source) -> Unmanaged<Outlet> {
    var logger = makeLogger("headgate.\(source)")
    // Which sources tell is decided by the switches, not by a level.
    logger.logLevel = .debug
    let new = Outlet(logger.handler)
    // Two threads may have made one at the same time. Both keep the first, and the other is let go out here.
    return state.withLock { state in
      let kept = state.outlets[source.number] ?? new
      state.outlets[source.number] = kept
      // It stays in the state: see there.
      return .passUnretained(kept)
    }
  }
}

/// A logger's handler, in a place where it need not be copied: a logger copies it, and what it tells, for each line.
private final class Outlet: Sendable {
  private let handler: any LogHandler

  init(_ handler: any LogHandler) { self.handler = handler }

  func write(_ event: LogEvent) {
    // As a logger does: a handler may keep to a level of its own.
    if handler.logLevel <= event.level { handler.log(event: event) }
  }
}
