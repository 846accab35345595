/// The reason of a ``FlowError``. New ones may come: handle those that you know, and treat the others as a failure.
public struct FlowErrorCode: Hashable, Sendable, CustomStringConvertible {
  /// Its name, as it stands in logs.
  public let description: String
  let explanation: String
  let advice: String

  private init(_ name: String, _ explanation: String, _ advice: String) {
    description = name
    self.explanation = explanation
    self.advice = advice
  }

  /// Compares the names.
  public static func == (left: FlowErrorCode, right: FlowErrorCode) -> Bool { left.description == right.description }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(description) }

  // MARK: What the functions did

  /// A function failed, and that decided: see ``FlowError/failure``; or what takes the results threw: see
  /// ``FlowError/underlying``.
  public static let failed = FlowErrorCode("failed", "it failed", "look at the failure")
  /// All functions failed: see ``FlowError/failures``.
  public static let allFailed = FlowErrorCode("all_failed", "all failed", "look at the failures")
  /// So many functions failed that those which are left could not be enough.
  public static let quorumMissed = FlowErrorCode(
    "quorum_missed", "too few can still succeed", "look at the failures, or ask for fewer successes")
  /// A callback function let go of its completion and never called it, so that no answer can come any more.
  public static let unanswered = FlowErrorCode(
    "unanswered", "the function let go of its completion without calling it",
    "look into the function: a path forgets it")

  // MARK: Ends from outside

  /// The deadline passed first.
  public static let timedOut = FlowErrorCode("timed_out", "the deadline passed", "allow more time, or look what hangs")
  /// The waiting task or thread was cancelled, or whoever started it took it back.
  public static let cancelled = FlowErrorCode("cancelled", "it was cancelled", "end what you do")

  // MARK: Refusals

  /// The answer would have to be delivered by the very thread that waits for it: it was not waited for.
  public static let wouldDeadlock = FlowErrorCode(
    "would_deadlock", "the thread that waits would have to deliver the answer",
    "wait on another thread, or have it delivered elsewhere")
  /// A task of Swift's runs on the calling thread, which is not one of Headgate's: blocking it may stop all others.
  public static let onCooperativeThread = FlowErrorCode(
    "on_cooperative_thread", "blocking a cooperative thread may stop all tasks",
    "use the async form, or go through ThreadPool.blocking")
  /// There was no function to run, and no result that could stand for that.
  public static let noInput = FlowErrorCode("no_input", "there was nothing to run", "give one function at least")
  /// A number is out of its range.
  public static let invalidArgument = FlowErrorCode(
    "invalid_argument", "a number is out of its range", "give limits of 1 or more, and nothing negative")

  // MARK: Retries

  /// As many attempts as were allowed have failed: see ``FlowError/failures``.
  public static let attemptsExhausted = FlowErrorCode(
    "attempts_exhausted", "all attempts failed", "look at the failures, or allow more attempts")
  /// The ``RetryBudget`` had nothing left for another attempt.
  public static let budgetExhausted = FlowErrorCode(
    "budget_exhausted", "it failed, and the budget for retries is used up", "look why so much fails; wait with new work"
  )

  // MARK: Sources and deliveries

  /// The source of elements or bytes failed: see ``FlowError/underlying``.
  public static let sourceFailed = FlowErrorCode(
    "source_failed", "its source failed", "look at the underlying error")
  /// The file became shorter than it was at the start.
  public static let sourceShrank = FlowErrorCode(
    "source_shrank", "the file became shorter meanwhile", "send it anew once nobody writes to it")
  /// Where the result was to be delivered nothing is taken any more: the loop has stopped, the pool was disposed of.
  public static let undeliverable = FlowErrorCode(
    "undeliverable", "the place of its delivery takes nothing any more", "keep the loop or pool as long as its work")
}
