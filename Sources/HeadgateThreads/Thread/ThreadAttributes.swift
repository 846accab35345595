import CHeadgate

/// How a thread is created. Fixed once the thread starts.
public struct ThreadAttributes: Sendable {
  /// Its name, as logs and debuggers show it; empty for none. The system receives as many whole characters as fit (15
  /// bytes of UTF-8 on Linux, 63 on Apple's systems). ``ManagedThread/name`` always has the full name.
  public var name: String

  /// The minimum size of the stack in bytes; 0 for the system's default (8 MiB on most Linux systems, 512 KiB on
  /// Apple's).
  ///
  /// It is rounded up to whole pages, and to the system's minimum plus 64 KiB of usable space. The system may grant
  /// more: see ``ManagedThread/stackSize``. A negative size, or one that exceeds both 1 GiB and the machine's memory,
  /// makes the start fail.
  public var stackSize: Int

  /// Its priority. The default, ``ThreadPriority/inherited``, is that of the thread that starts it.
  public var priority: ThreadPriority

  /// Whether the thread is detached: it cannot be joined, its error goes to ``onUncaughtError``, and its result is
  /// discarded.
  public var isDetached: Bool

  /// Receives the error that ends the thread, if the thread is never joined. If nil, the default, the process-wide
  /// ``ManagedThread/onUncaughtError`` receives it. Called once: on the thread itself if it was detached before its
  /// end, otherwise on the thread that detaches it or drops the handle.
  public var onUncaughtError: (@Sendable (any Error, ThreadHandle) -> Void)?

  /// Creates attributes. See the properties.
  public init(
    name: String = "", stackSize: Int = 0, priority: ThreadPriority = .inherited, isDetached: Bool = false,
    onUncaughtError: (@Sendable (any Error, ThreadHandle) -> Void)? = nil
  ) {
    self.name = name
    self.stackSize = stackSize
    self.priority = priority
    self.isDetached = isDetached
    self.onUncaughtError = onUncaughtError
  }

  /// Stack space that the library needs to run a closure and to report how it ended.
  private static let room = 64 * 1024
  private static let alwaysSane = 1 << 30

  /// The size to request from the system, 0 for its default. Throws for a size that no machine can grant.
  func roundedStackSize() throws(ThreadError) -> Int {
    if stackSize == 0 { return 0 }
    guard stackSize > 0, stackSize <= Self.alwaysSane || UInt64(stackSize) <= headgate_memory() else {
      throw ThreadError(.invalidStackSize, name: name)
    }
    let page = headgate_page()
    // On some systems the minimum covers only the system's own data.
    let least = headgate_stack_minimum() + Self.room
    return (max(stackSize, least) + page - 1) / page * page
  }
}

/// The longest name that the system accepts, in bytes without the terminating zero.
private var longestSystemName: Int {
  #if canImport(Darwin)
  63
  #else
  15
  #endif
}

/// The longest prefix of a name that the system accepts, cut between two characters. If even the first character is too
/// long, it is cut between two Unicode scalars.
func systemThreadName(_ name: String) -> String {
  // The system's names end at a zero byte. No character contains a zero byte among others.
  var prefix = String(name.prefix { $0 != "\0" })
  while prefix.utf8.count > longestSystemName {
    let isOneCharacter = prefix.index(after: prefix.startIndex) == prefix.endIndex
    if isOneCharacter { prefix.unicodeScalars.removeLast() } else { prefix.removeLast() }
  }
  return prefix
}
