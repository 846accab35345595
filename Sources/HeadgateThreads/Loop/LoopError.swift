/// Why a loop could not be run, or refused a call or a watch.
public struct LoopError: HeadgateError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it appears in logs.
    public let description: String
    fileprivate let explanation: String

    /// The loop has stopped.
    public static let stopped = Code(
      description: "stopped", explanation: "it has stopped; create a new one")
    /// A loop can be run only by its own thread.
    public static let wrongThread = Code(
      description: "wrong_thread", explanation: "only its own thread may run it; send work to it with perform")
    /// The calling thread must not block: see ``WaitError/Code/onCooperativeThread``.
    public static let onCooperativeThread = Code(
      description: "on_cooperative_thread",
      explanation:
        "this thread must not block, because others depend on it; start a ThreadLoop with a thread of its own")
    /// The descriptor already has a watch for this direction.
    public static let alreadyWatched = Code(
      description: "already_watched", explanation: "the descriptor is already watched; cancel that watch first")
    /// The system cannot watch the descriptor, or has no descriptors left for the poller; see `errno`.
    public static let notWatchable = Code(
      description: "not_watchable",
      explanation:
        "the system refused; is the descriptor open, and a socket, pipe or terminal (plain files are always ready)?")
  }

  /// The reason.
  public var code: Code

  /// The loop's name.
  public var loop: String

  /// The system's error number; 0 if the system was not involved.
  public var errno: Int32

  /// Creates an error with this code.
  public init(_ code: Code, loop: String, errno: Int32 = 0) {
    self.code = code
    self.loop = loop
    self.errno = errno
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what failed, why, and what to do.
  public var description: String {
    "loop \"\(loop)\": \(code.explanation)" + (errno == 0 ? "" : " (error \(errno))")
  }
}
