import CHeadgate
import Logging

/// What a thread tells its lines with: an event that says which thread it is, and is filled in anew for each line. Made
/// for each, it would cost more than all the rest of a line.
///
/// Each thread has its own until it exits, so no lock stands between two that tell something.
struct LogThread {
  /// A thread's name as two words, or its number where it has none.
  private struct Tag: Equatable {
    let low: UInt64
    let high: UInt64

    /// That of the calling thread; nil if its name is longer than fifteen bytes. A name that Headgate sets counts at once;
    /// one that the program gives a thread by the system's own call is seen within a second.
    static var current: Tag? {
      var words: (UInt64, UInt64) = (0, 0)
      let fits = withUnsafeMutableBytes(of: &words) {
        headgate_log_thread_words($0.baseAddress?.assumingMemoryBound(to: UInt64.self)) != 0
      }
      guard fits else { return nil }
      // The second word's last byte is the end of the name: none has all bits of it set.
      return words.0 != 0 ? Tag(low: words.0, high: words.1) : Tag(low: UInt64(headgate_thread_number()), high: .max)
    }
  }

  // Whose name stands in the event.
  private var tag: Tag?
  // In memory of its own, to be moved out and back in: from anywhere else it would be copied, which is what this is about.
  private let event: UnsafeMutablePointer<LogEvent>
  // It was moved out: a line is being told with it. Who ends the thread meanwhile leaks it.
  private var isLent = false

  /// Fills in a line's parts and has a handler told, which may do what it likes but tell another line through here.
  static func tell(_ handler: Unmanaged<Outlet>, _ level: Logger.Level, _ message: consuming String) {
    let kept = current
    let event = kept.pointee.event
    let tag = Tag.current
    if tag == nil || tag != kept.pointee.tag {
      kept.pointee.tag = tag
      event.pointee.metadata = ["thread": .string(LogLine.threadName())]
    }
    event.pointee.level = level
    // As it is: interpolated into another one it would be copied.
    event.pointee.message = Logger.Message(stringLiteral: message)
    kept.pointee.isLent = true
    // The handler stays with its output, which the caller of our caller holds. The event is this thread's alone: at depth 2
    // nothing tells a line through here, so it is moved back before anybody looks for it.
    let line = event.move()
    handler.takeUnretainedValue().write(line)
    event.initialize(to: line)
    kept.pointee.isLent = false
    event.pointee.message = ""
  }

  // The pointer is the calling thread's own and stays with it until the thread exits.
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
      // What `make` allocated, by its last user: the thread is about to exit.
      guard let kept = kept?.assumingMemoryBound(to: LogThread.self) else { return }
      if !kept.pointee.isLent { kept.pointee.event.deinitialize(count: 1) }
      kept.pointee.event.deallocate()
      kept.deallocate()
    }
    return new
  }
}
