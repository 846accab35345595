/// Why a wait ended without what it waited for.
///
/// One error for everything that waits: taking from a queue, joining a thread, sleeping, waiting for a task of a pool.
public struct WaitError: HeadgateError, Hashable {
  /// The kind of end. New ones may come: handle those that you know, and treat the others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String
    fileprivate let explanation: String
    fileprivate let advice: String

    private init(_ name: String, _ explanation: String, _ advice: String) {
      description = name
      self.explanation = explanation
      self.advice = advice
    }

    /// The deadline passed first.
    public static let timedOut = Code("timed_out", "the deadline passed", "wait longer, or look who should have come")
    /// The waiting thread or task was cancelled.
    public static let cancelled = Code("cancelled", "the one who waited was cancelled", "end what you do")
    /// What was waited on was closed or disposed of.
    public static let closed = Code("closed", "it was closed", "stop using it, or make a new one")
    /// The wait could never have ended, so it was not begun.
    public static let wouldDeadlock = Code(
      "would_deadlock", "the wait could never have ended", "wait from another thread, or don't wait")
    /// A task of Swift's runs on the calling thread, which is not one of Headgate's: blocking it may stop all others.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread", "blocking a cooperative thread may stop all tasks",
      "use the async form, or go through ThreadPool.blocking")
  }

  /// The kind of end.
  public var code: Code

  /// What waited, for people: `take from "jobs"`.
  public var operation: String

  /// How long the wait had lasted.
  public var waited: Duration

  /// An error of this kind.
  public init(_ code: Code, operation: String, waited: Duration = .zero) {
    self.code = code
    self.operation = operation
    self.waited = waited
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what ended, why, after how long, and what to do.
  public var description: String {
    "\(operation): \(code.explanation) after \(waited.inSeconds) s; \(code.advice)"
  }
}
