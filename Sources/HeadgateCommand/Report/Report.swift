import HeadgateDispatch
import HeadgateThreads

/// Reports a run: the counts, and the lines on standard error.
final class Report: Sendable {
  let console: LineWriter
  private let verbosity: FetchOptions.Verbosity
  private let state = Locked(Tally())
  /// The number of messages for each kind of error of which only some are written.
  private let repeated = Locked([String: Int]())
  /// What the requests that have ended waited for.
  let waits = Locked(RunWaits())

  init(_ console: LineWriter, _ verbosity: FetchOptions.Verbosity) {
    (self.console, self.verbosity) = (console, verbosity)
  }

  var tally: Tally { state.withLock { $0 } }

  /// Whether there is a line for each request.
  var isVerbose: Bool { verbosity == .verbose }

  /// Changes the counts.
  func count(_ change: (inout Tally) -> Void) { state.withLock { change(&$0) } }

  /// Counts what is given up or no longer read. Nil stands for an unknown number.
  func skipped(_ number: Int? = 1) { count { $0.skip(number) } }

  /// Reports a fault of the run itself, not of a URL or a row.
  func fault(_ failure: FailureClass, _ text: String) {
    count { $0.note(failure) }
    complain(text)
  }

  /// Reports an error that has been counted.
  func complain(_ text: String) { say("headgate: \(text)") }

  /// The maximum number of messages for one kind of error, unless all are requested.
  static let mostRepeated = 20

  /// Reports one of perhaps many errors of a kind, of which only the first are written, unless all are requested.
  ///
  /// - Parameters:
  ///   - text: The message about this one.
  ///   - kind: What it has in common with others.
  ///   - others: Stands for all that are not written.
  func complain(_ text: @autoclosure () -> String, repeating kind: String, others: @autoclosure () -> String) {
    let count = repeated.withLock { repeated in
      repeated[kind, default: 0] += 1
      return repeated[kind] ?? 0
    }
    if count <= Self.mostRepeated || isVerbose { return complain(text()) }
    if count == Self.mostRepeated + 1 { complain(others()) }
  }

  /// Writes a remark, which is neither data nor an error.
  func remark(_ text: String) {
    if verbosity != .quiet { say("headgate: \(text)") }
  }

  /// Writes a line on a request that succeeded or was skipped.
  func tell(_ text: @autoclosure () -> String) {
    if isVerbose { say(text()) }
  }

  /// Shows lines at the user's request.
  func show(_ text: String) {
    for line in text.split(separator: "\n") { say(String(line)) }
  }

  /// Suspends while too many lines are pending in memory.
  func settle() async { if console.isBehind { await console.flush() } }

  /// Writes everything that is pending, with the summary last. Returns the exit status.
  ///
  /// - Parameter more: A line above the summary, which stays the last line. Nil for none.
  func finish(_ more: String? = nil, _ summary: (Tally) -> String) async -> ExitStatus {
    console.endStatus()
    let tally = tally
    if verbosity != .quiet {
      if let more { console.tell(more + "\n") }
      console.tell(summary(tally) + "\n")
    }
    await console.flush()
    return tally.exitStatus
  }

  /// Enough for a URL, a file name and a message.
  private static let longestLine = 8_000

  /// Writes a line. This is the one place where text from servers, lists, rows, certificates and file names is escaped.
  private func say(_ line: String) { console.tell(ShownText.of(line, atMost: Self.longestLine) + "\n") }
}
