import CHeadgate
import Logging

/// A thread's reusable log event, which contains the thread's name and is filled in for each line. Creating an event
/// for each line would cost more than the rest of the logging.
///
/// Each thread has its own until it exits, so logging needs no lock.
struct LogThread {
  /// A thread's name in two words, or its number if it has no name.
  private struct Tag: Equatable {
    let low: UInt64
    let high: UInt64

    /// The calling thread's tag; nil if its name is longer than fifteen bytes. A name set by Headgate takes effect at
    /// once; one set by the program with the system's call, within a second.
    static var current: Tag? {
      var words: (UInt64, UInt64) = (0, 0)
      let fits = withUnsafeMutableBytes(of: &words) {
        headgate_log_thread_words($0.baseAddress?.assumingMemoryBound(to: UInt64.self)) != 0
      }
      guard fits else { return nil }
      // The last byte of the second word is the name's terminating zero, so no name has all bits set there.
      return words.0 != 0 ? Tag(low: words.0, high: words.1) : Tag(low: UInt64(headgate_thread_number()), high: .max)
    }
  }

  // The tag of the name in the event.
  private var tag: Tag?
  // In separate memory, so that it can be moved out and back. From anywhere else it would be copied, which is what this
  // type avoids.
  private let event: UnsafeMutablePointer<LogEvent>
  // The event was moved out for a line in progress. If the thread exits meanwhile, the event leaks.
  private var isLent = false

  /// Fills in a line's values and calls a handler. The handler may do anything except log another line through this
  /// function.
  static func tell(_ handler: Unmanaged<Outlet>, _ level: Logger.Level, _ message: consuming String) {
    let kept = current
    let event = kept.pointee.event
    let tag = Tag.current
    if tag == nil || tag != kept.pointee.tag {
      kept.pointee.tag = tag
      event.pointee.metadata = ["thread": .string(LogLine.threadName())]
    }
    event.pointee.level = level
    // Used as it is: interpolating it into another string would copy it.
    event.pointee.message = Logger.Message(stringLiteral: message)
    kept.pointee.isLent = true
    // The handler is retained by its output, which a caller further up retains. The event belongs to this thread: at
    // depth 2 no line is logged through here, so the event is moved back before it is needed again.
    let line = event.move()
    handler.takeUnretainedValue().write(line)
    event.initialize(to: line)
    kept.pointee.isLent = false
    event.pointee.message = ""
  }

  // The pointer belongs to the calling thread and stays valid until the thread exits.
  private static var current: UnsafeMutablePointer<LogThread> {
    headgate_log_kept()?.assumingMemoryBound(to: LogThread.self) ?? make()
  }

  @inline(never)
  private static func make() -> UnsafeMutablePointer<LogThread> {
    let new = UnsafeMutablePointer<LogThread>.allocate(capacity: 1)
    let event = UnsafeMutablePointer<LogEvent>.allocate(capacity: 1)
    event.initialize(
      to: LogEvent(
        level: .debug, message: "", metadata: nil, source: nil, file: #fileID, function: "tell(_:_:_:)", line: #line))
    new.initialize(to: LogThread(event: event))
    headgate_log_keep(new) { kept in
      // Frees what `make` allocated: the thread is about to exit.
      guard let kept = kept?.assumingMemoryBound(to: LogThread.self) else { return }
      if !kept.pointee.isLent { kept.pointee.event.deinitialize(count: 1) }
      kept.pointee.event.deallocate()
      kept.deallocate()
    }
    return new
  }
}
