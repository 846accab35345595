/// Why a loop could not be run, or refused a call or a watch.
public struct LoopError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The loop has stopped.
    public static let stopped = Code("stopped", "it has stopped; create a new one")
    /// A loop can be run only by its own thread.
    public static let wrongThread = Code("wrong_thread", "only its own thread may run it; send work to it with perform")
    /// The calling thread must not block: see ``WaitError/Code/onCooperativeThread``.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread",
      "this thread must not block, because others depend on it; start a ThreadLoop with a thread of its own")
    /// The descriptor already has a watch for this direction.
    public static let alreadyWatched = Code(
      "already_watched", "the descriptor is already watched; cancel that watch first")
    /// The system cannot watch the descriptor, or has no descriptors left for the poller; see `errno`.
    public static let notWatchable = Code(
      "not_watchable",
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

  /// A readable text: what failed, why, and what to do.
  public var description: String {
    "loop \"\(loop)\": \(code.reason.explanation)" + (errno == 0 ? "" : " (error \(errno))")
  }
}
