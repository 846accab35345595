import HeadgateDispatch
import HeadgateThreads

/// What is told of a run of calls: the counts, and the lines on the standard error.
final class CallReport: Sendable {
  let console: LineWriter
  /// How many rows that failed in one way are told of, unless all are asked for: the results have each of them.
  static let mostTold = 20

  private let verbosity: FetchOptions.Verbosity
  private let state = Locked(CallTally())
  private let told = Locked([String: Int]())

  init(console: LineWriter, verbosity: FetchOptions.Verbosity) {
    (self.console, self.verbosity) = (console, verbosity)
  }

  var tally: CallTally { state.withLock { $0 } }

  /// A row has its result, which is written.
  func ended(_ row: CallRow, _ result: CallResult, bytes: Int) {
    state.withLock { $0.end(result.outcome, error: result.error, bytes: bytes) }
    if let message = result.message {
      complain(message, result.error ?? "", about: row)
    } else if verbosity == .verbose {
      let time = result.total.map { "  \(Amount.seconds($0))" } ?? ""
      say("\(result.status ?? 0)  \(Amount.bytes(bytes))\(time)  \(row.list):\(row.line)")
    }
  }

  /// A row has a result of an earlier run.
  func found(_ row: CallRow, _ outcome: CallOutcome, error: String?) {
    state.withLock { tally in
      if outcome == .ok { tally.find() } else { tally.find(outcome, error: error) }
    }
  }

  /// Rows were given up, or are not looked at any more; nil: an unknown number.
  func skipped(_ count: Int? = 1) { state.withLock { $0.skip(count) } }

  /// Something beside the rows went wrong.
  func fault(_ failure: FailureClass, _ text: String) {
    state.withLock { $0.note(failure) }
    complain(text)
  }

  func interrupted() { state.withLock { $0.isInterrupted = true } }

  /// Says something that is neither data nor an error.
  func remark(_ text: String) {
    if verbosity != .quiet { say("headgate: \(text)") }
  }

  /// Shows lines for a person who asked for them.
  func show(_ text: String) {
    for line in text.split(separator: "\n") { say(String(line)) }
  }

  /// Suspends while more lines wait to be written than memory should hold.
  func settle() async { if console.isBehind { await console.flush() } }

  /// Writes what is left, the summary last. Returns the exit status.
  func finish(seconds: Double, peak: Int) async -> ExitStatus {
    console.endStatus()
    let tally = tally
    if verbosity != .quiet { console.write(tally.summary(seconds: seconds, peak: peak) + "\n") }
    await console.flush()
    return tally.exitStatus
  }

  private func complain(_ message: String, _ error: String, about row: CallRow) {
    let count = told.withLock { told in
      told[error, default: 0] += 1
      return told[error] ?? 0
    }
    if count <= Self.mostTold || verbosity == .verbose { return complain("\(row.list):\(row.line): \(message)") }
    if count == Self.mostTold + 1 {
      complain("more rows have the error \(error); the results name each, and so does -v")
    }
  }

  private func complain(_ text: String) { say("headgate: \(text)") }

  /// Writes one line. Here what rows and servers say becomes harmless.
  private func say(_ line: String) { console.write(ShownText.of(line, atMost: 2_000) + "\n") }
}
