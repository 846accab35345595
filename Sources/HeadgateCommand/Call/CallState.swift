/// What a session's journal and its file of results say of every row.
///
/// The results are the record: a row whose line is there has ended. The journal only adds which rows were about to be
/// sent that may not be sent twice; a row with an idempotency key, or of a method that may be repeated, needs no word
/// of it.
struct CallState: Sendable {
  private struct Entry {
    var results = 0
    var outcome = CallOutcome.notSent
    var error: String?
    /// How many results there were when it was last about to be sent.
    var sending: Int?
  }

  /// What is to be done about a row.
  enum Plan: Hashable, Sendable {
    /// It has ended well: nothing.
    case there
    /// It has ended otherwise, and that is its result.
    case before(CallOutcome, error: String?)
    /// To be sent. So many results of it are there already.
    case send(results: Int)
    /// It was under way when a run ended, and may not be sent again: to be named.
    case unknown
  }

  /// What the user allows beyond what is safe.
  struct Leave: Hashable, Sendable {
    /// Rows that failed are sent again.
    var retriesFailed = false
    /// Rows are sent twice that may not be.
    var retriesUnsafe = false
  }

  /// The session's random word and the digest of its requests; nil until a run began.
  private(set) var run: String?
  private(set) var requests: String?
  private var entries: [RowKey: Entry] = [:]

  /// How many rows have results.
  var ended: Int { entries.values.count { $0.results > 0 } }

  mutating func apply(_ event: CallEvent) {
    switch event {
    case .began(let run, let requests): (self.run, self.requests) = (run, requests)
    case .sending(let key, let results): entries[key, default: Entry()].sending = results
    case .unsent(let key): entries[key]?.sending = nil
    }
  }

  /// A line of the results. The last one of a row counts.
  mutating func apply(_ line: ResultLine) {
    entries[line.key, default: Entry()].results += 1
    entries[line.key]?.outcome = line.outcome
    entries[line.key]?.error = line.error
  }

  /// What is to be done about a row.
  ///
  /// - Parameters:
  ///   - mayRepeat: Whether its request may be sent twice: by its method, or by its idempotency key.
  ///   - leave: What the user allows.
  func plan(_ key: RowKey, mayRepeat: Bool, _ leave: Leave) -> Plan {
    guard let entry = entries[key] else { return .send(results: 0) }
    let mayBeSent = mayRepeat || leave.retriesUnsafe
    // About to be sent, and no result has come since. More results than there are: somebody removed them.
    if let sending = entry.sending, sending >= entry.results, !mayBeSent { return .unknown }
    switch entry.outcome {
    case _ where entry.results == 0: return .send(results: 0)
    case .ok: return .there
    case .failed where leave.retriesFailed, .notSent where leave.retriesFailed:
      return .send(results: entry.results)
    case .unknown where leave.retriesFailed && mayBeSent: return .send(results: entry.results)
    case .failed, .notSent, .unknown: return .before(entry.outcome, error: entry.error)
    }
  }
}
