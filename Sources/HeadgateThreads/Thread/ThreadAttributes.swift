import CHeadgate

/// How a thread is to be made; fixed once it starts.
public struct ThreadAttributes: Sendable {
  /// Its name, as the log and debuggers show it; empty for none. The system gets as many whole characters of it as it
  /// takes (15 bytes of UTF-8 on Linux, 63 on Apple's systems); ``ManagedThread/name`` is always the whole name.
  public var name: String

  /// The least stack in bytes, 0 for the system's default (8 MiB on most Linux systems, 512 KiB on Apple's).
  ///
  /// Rounded up to whole pages and to what the system needs at least, with 64 KiB to work in. The system may give more:
  /// ``ManagedThread/stackSize`` tells. Negative sizes, and sizes over 1 GiB that are more than the machine's memory, are
  /// an error at the start.
  public var stackSize: Int

  /// Its priority; ``ThreadPriority/inherited``, as the thread that starts it, by default.
  public var priority: ThreadPriority

  /// Whether nobody will join it: then its error goes to ``onUncaughtError`` and its result to nobody.
  public var isDetached: Bool

  /// Receives the error that ends the thread, if nobody joins for it; nil, as by default, for
  /// ``ManagedThread/onUncaughtError``, that of the process. Called once, on the thread itself when it was detached before
  /// its end, else on the one that detached it or dropped the handle.
  public var onUncaughtError: (@Sendable (any Error, ThreadHandle) -> Void)?

  /// Attributes. See the properties.
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

  /// What the library needs on a stack to run a closure and to report how it ended.
  private static let room = 64 * 1024
  private static let alwaysSane = 1 << 30

  /// The stack to ask the system for, 0 for its default. Throws for what no machine can give.
  func roundedStackSize() throws(ThreadError) -> Int {
    if stackSize == 0 { return 0 }
    guard stackSize > 0, stackSize <= Self.alwaysSane || UInt64(stackSize) <= headgate_memory() else {
      throw ThreadError(.invalidStackSize, name: name)
    }
    let page = headgate_page()
    // Some systems' minimum leaves nothing but room for the system's own words.
    let least = headgate_stack_minimum() + Self.room
    return (max(stackSize, least) + page - 1) / page * page
  }
}

/// The longest name that the system takes, in bytes without the zero at its end.
private var longestSystemName: Int {
  #if canImport(Darwin)
  63
  #else
  15
  #endif
}

/// As much of a name as the system takes, cut between two characters; a first character that is too long by itself is
/// cut between two Unicode scalars.
func systemThreadName(_ name: String) -> String {
  // No character has bytes on both sides of a zero.
  let name = name.utf8.contains(0) ? String(name.prefix { $0 != "\0" }) : name
  guard name.utf8.count > longestSystemName else { return name }
  var size = 0
  let characters = name.prefix { character in
    size += character.utf8.count
    return size <= longestSystemName
  }
  if !characters.isEmpty { return String(characters) }
  var scalars = String.UnicodeScalarView()
  size = 0
  for scalar in name.unicodeScalars {
    size += UTF8.width(scalar)
    if size > longestSystemName { break }
    scalars.append(scalar)
  }
  return String(scalars)
}
