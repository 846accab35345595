/// A small program of a few threads. All stand in a target of their own because the explorer sees what is compiled for it
/// only: the explorer's own code and what notes the outcome of a script is not to be explored.
public struct Program {
  /// What each thread does.
  public var threads: [@Sendable () -> Void]
  /// What came out once all have ended. A reason is a failure.
  public var verdict: () -> String?

  init(_ threads: [@Sendable () -> Void], verdict: @escaping () -> String? = { nil }) {
    self.threads = threads
    self.verdict = verdict
  }
}
