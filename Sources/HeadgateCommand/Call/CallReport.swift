import HeadgateDispatch
import HeadgateThreads

/// Reports on a run of calls: counts, and the lines on standard error.
final class CallReport: Sendable {
  let console: LineWriter
  /// The maximum number of messages for one kind of error, unless all are requested. The results contain every error.
  static let mostTold = 20

  private let verbosity: FetchOptions.Verbosity
  private let state = Locked(CallTally())
  private let told = Locked([String: Int]())

  init(console: LineWriter, verbosity: FetchOptions.Verbosity) {
    (self.console, self.verbosity) = (console, verbosity)
  }

  var tally: CallTally { state.withLock { $0 } }

  /// A row's result has been written.
  func ended(_ row: CallRow, _ result: CallResult, bytes: Int) {
    state.withLock { $0.end(result.outcome, error: result.error, bytes: bytes) }
    if let message = result.message {
      complain(message, result.error ?? "", about: row)
    } else if verbosity == .verbose {
      let time = result.total.map { "  \(Amount.seconds($0))" } ?? ""
      say("\(result.status ?? 0)  \(Amount.bytes(bytes))\(time)  \(row.list):\(row.line)")
    }
  }

  /// A row that must not be sent twice was sent, and its result can't be written. Each such row is named: no file says
  /// that it was sent.
  func lost(_ row: CallRow, _ result: CallResult, bytes: Int) {
    state.withLock { $0.end(.unknown, error: result.error, bytes: bytes) }
    let answer = result.status.map { "status \($0)" } ?? result.error ?? "sent"
    complain("\(row.list):\(row.line): \(answer); its result can't be written, and it must not be sent twice")
  }

  /// A row has a result from an earlier run.
  func found(_ row: CallRow, _ outcome: CallOutcome, error: String?) {
    state.withLock { tally in
      if outcome == .ok { tally.find() } else { tally.find(outcome, error: error) }
    }
  }

  /// Rows were given up, or will not be processed. Nil for an unknown number.
  func skipped(_ count: Int? = 1) { state.withLock { $0.skip(count) } }

  /// An error occurred that does not concern a row.
  func fault(_ failure: FailureClass, _ text: String) {
    state.withLock { $0.note(failure) }
    complain(text)
  }

  func interrupted() { state.withLock { $0.isInterrupted = true } }

  /// Prints a line that is neither data nor an error.
  func remark(_ text: String) {
    if verbosity != .quiet { say("headgate: \(text)") }
  }

  /// Shows lines on a user's request.
  func show(_ text: String) {
    for line in text.split(separator: "\n") { say(String(line)) }
  }

  /// Suspends while too many lines wait to be written.
  func settle() async { if console.isBehind { await console.flush() } }

  /// Writes what is left, and the summary last. Returns the exit status.
  func finish(seconds: Double, peak: Int) async -> ExitStatus {
    console.endStatus()
    let tally = tally
    if verbosity != .quiet { console.tell(tally.summary(seconds: seconds, peak: peak) + "\n") }
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
      complain("more rows have the error \(error); the results list each of them, and so does -v")
    }
  }

  private func complain(_ text: String) { say("headgate: \(text)") }

  /// Writes one line. Text from rows and servers is made harmless here.
  private func say(_ line: String) { console.tell(ShownText.of(line, atMost: 2_000) + "\n") }
}
