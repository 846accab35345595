/// A small program of a few threads. All are in a separate target, because the explorer records only the code compiled
/// for it: the explorer's own code, and the code that records a script's outcome, must not be explored.
public struct Program {
  /// The body of each thread.
  public var threads: [@Sendable () -> Void]
  /// Checks the outcome once all have ended. A reason is a failure.
  public var verdict: () -> String?

  init(_ threads: [@Sendable () -> Void], verdict: @escaping () -> String? = { nil }) {
    self.threads = threads
    self.verdict = verdict
  }
}
