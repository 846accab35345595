/// The state of every row, according to a session's journal and results file.
///
/// The results are authoritative: a row with a result has ended. The journal adds only one thing: which of the rows
/// that must not be sent twice were about to be sent. Rows with an idempotency key or an idempotent method are not in
/// it.
struct CallState: Sendable {
  private struct Entry {
    var results = 0
    var outcome = CallOutcome.notSent
    var error: String?
    /// The number of results when it was last about to be sent.
    var sending: Int?
    /// The same at the time before, for a row that was not sent after all.
    var sendingBefore: Int?
  }

  /// The next action for a row.
  enum Plan: Hashable, Sendable {
    /// It has ended successfully: nothing to do.
    case complete
    /// It has ended with another outcome, which is its result.
    case before(CallOutcome, error: String?)
    /// Send it. `results` is the number of its existing results. If it is in doubt, an earlier run may have sent it.
    case send(results: Int, isInDoubt: Bool = false)
    /// Its pages are written up to one that is not the last: send the next one.
    case goOn(PageTrail)
    /// It was being sent when a run ended, and must not be sent again: report it.
    case unknown

    /// The number of the page to send.
    var page: Int { if case .goOn(let trail) = self { trail.count + 1 } else { 1 } }

    var isInDoubt: Bool { if case .send(_, isInDoubt: true) = self { true } else { false } }
  }

  /// What the user allows beyond the safe actions.
  struct Leave: Hashable, Sendable {
    /// Failed rows are sent again.
    var retriesFailed = false
    /// Rows may be sent twice although they should not be.
    var retriesUnsafe = false
    /// The number of pages after which a row has ended. Nil: only its last page ends it.
    var maxPages: Int?
  }

  /// The session's random word and the digest of its requests. Nil before a run has begun.
  private(set) var run: String?
  private(set) var requests: String?
  private var entries: [RowKey: Entry] = [:]
  /// The rows whose last page is not written.
  private var trails: [RowKey: PageTrail] = [:]

  /// The number of rows with results.
  var ended: Int { entries.values.count { $0.results > 0 } }

  mutating func apply(_ event: CallEvent) {
    switch event {
    case .began(let run, let requests): (self.run, self.requests) = (run, requests)
    case .sending(let key, let results):
      var entry = entries[key] ?? Entry()
      (entry.sendingBefore, entry.sending) = (entry.sending, results)
      entries[key] = entry
    // An earlier run may have sent it nevertheless.
    case .unsent(let key):
      let before = entries[key]?.sendingBefore
      entries[key]?.sending = before
    }
  }

  /// Applies a line of the results. The last line of a row counts.
  mutating func apply(_ line: ResultLine) {
    entries[line.key, default: Entry()].results += 1
    entries[line.key]?.outcome = line.outcome
    entries[line.key]?.error = line.error
    // A page that failed is requested again where it was.
    guard let page = line.page, line.outcome == .ok else { return }
    guard let next = line.next else { return trails[line.key] = nil }
    if trails[line.key] == nil {
      trails[line.key] = PageTrail(page, next: next)
    } else {
      trails[line.key]?.add(page, next: next)
    }
  }

  /// The next action for a row, depending on what the user allows. An idempotency key that the row has now does not
  /// count: if it had been sent with one, the journal would not have it as being sent.
  func plan(_ key: RowKey, _ leave: Leave) -> Plan {
    guard let entry = entries[key] else { return .send(results: 0) }
    // It was about to be sent, and no result has arrived since. If fewer results exist than recorded, someone has
    // removed some.
    let wasSending = entry.sending.map { $0 >= entry.results } ?? false
    if wasSending, !leave.retriesUnsafe { return .unknown }
    switch entry.outcome {
    case _ where entry.results == 0: return .send(results: 0, isInDoubt: wasSending)
    case .ok: return trails[key].map { goOn($0, leave) } ?? .complete
    case .failed where leave.retriesFailed, .notSent where leave.retriesFailed:
      return trails[key].map { goOn($0, leave) } ?? .send(results: entry.results, isInDoubt: wasSending)
    case .unknown where leave.retriesFailed && leave.retriesUnsafe:
      return .send(results: entry.results, isInDoubt: true)
    case .failed, .notSent, .unknown: return .before(entry.outcome, error: entry.error)
    }
  }

  private func goOn(_ trail: PageTrail, _ leave: Leave) -> Plan {
    leave.maxPages.map { trail.count >= $0 } ?? false ? .complete : .goOn(trail)
  }
}
