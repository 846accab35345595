/// Why a loop could not be run, or would not take something.
public struct LoopError: HeadgateError, Hashable {
  /// The kind of failure. New ones may come: handle those that you know.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String
    fileprivate let explanation: String

    /// The loop has stopped.
    public static let stopped = Code(
      description: "stopped", explanation: "it has stopped; make a new one")
    /// A loop is run only by its own thread.
    public static let wrongThread = Code(
      description: "wrong_thread", explanation: "only its own thread may run it; send it there with perform")
    /// A task of Swift's runs on the calling thread, which is not one of Headgate's: blocking it may stop all others.
    public static let onCooperativeThread = Code(
      description: "on_cooperative_thread",
      explanation: "running it would block a cooperative thread; start a ThreadLoop with a thread of its own")
    /// The descriptor has a watch for this direction.
    public static let alreadyWatched = Code(
      description: "already_watched", explanation: "the descriptor is watched; cancel that watch first")
    /// The system does not take the descriptor, or has none left for the waiting itself; `errno` tells.
    public static let notWatchable = Code(
      description: "not_watchable",
      explanation: "the system refused; is it open, and a socket, pipe or terminal (plain files are always ready)?")
  }

  /// The kind of failure.
  public var code: Code

  /// The loop's name.
  public var loop: String

  /// The system's error number; 0 where it was not the system.
  public var errno: Int32

  /// An error of this kind.
  public init(_ code: Code, loop: String, errno: Int32 = 0) {
    self.code = code
    self.loop = loop
    self.errno = errno
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what failed, why, and what to do.
  public var description: String {
    "loop \"\(loop)\": \(code.explanation)" + (errno == 0 ? "" : " (error \(errno))")
  }
}
