import HTTPTypes
import HeadgateDispatch
import HeadgateReport
import HeadgateThreads

/// The contents of one row's line in the results. Null means not applicable or unknown.
struct CallResult: Sendable {
  let key: RowKey
  var outcome: CallOutcome
  /// A code of `DispatchError`, `http_error`, `outcome_unknown`, or a word of ``RowProblem``.
  var error: String?
  /// The error as in messages. Control characters are escaped.
  var message: String?
  /// The row's line number in its list, from 1.
  let line: Int
  /// The row as read. Nil if it could not be read.
  var row: JSONValue?
  /// The number of the page, and the URL of the next one. Nil without `--next`.
  let page: Int?
  var next: String?
  var method: String?
  /// The URL of the request. Passwords are not written.
  var url: String?
  var status: Int?
  /// The requested response header fields; nil for missing ones.
  var headers: [(name: HTTPField.Name, value: String?)] = []
  var body = ResponseBody.none
  /// The file of the body.
  var file: String?
  /// How often this run sent it; 0 for never.
  var attempts = 0
  /// The time waiting for permits, not included in the following times.
  var queued: Double?
  /// What it waited for in this time. Not written if nothing, or if that was no millisecond.
  var waited = WaitTimes()
  /// The times of the last exchange, each from that exchange's start.
  var exchange: ExchangeTimes?
  /// From the submission to the end.
  var total: Double?
  /// The time of its end, in the format of RFC 3339.
  var time: String?

  init(_ row: CallRow, _ outcome: CallOutcome, error: String? = nil, message: String? = nil) {
    (key, line, self.row, page) = (row.key, row.line, row.value, row.page)
    (self.outcome, self.error, self.message) = (outcome, error, message)
  }

  /// Leaves the outcome unknown unless the row succeeded: the request may have taken effect, in this run or an earlier
  /// one.
  mutating func keepDoubt(because reason: String) {
    guard outcome == .failed || outcome == .notSent else { return }
    outcome = .unknown
    message = message.map { $0 + "; \(reason)" }
  }

  /// The line, including its line feed.
  var json: String {
    var line = JSONLine()
    ResultLine(key: key, outcome: outcome, error: error, page: page, next: next).add(to: &line)
    line.add("message", message)
    line.add("line", self.line)
    line.add("row", json: row?.text)
    line.add("method", method)
    line.add("url", url.map(ShownText.withoutPassword))
    line.add("status", status)
    if !headers.isEmpty {
      let fields = headers.map { JSONMember(name: $0.name.rawName, value: $0.value.map(JSONValue.string) ?? .null) }
      line.add("headers", json: JSONValue.object(fields).text)
    }
    line.add("body", json: body.json?.text)
    if case .text(let text) = body { line.add("body_text", text) }
    if case .bytes(let bytes) = body { line.add("body_base64", ResponseBody.base64(bytes)) }
    if let file { line.add("file", file) }
    line.add("attempts", attempts)
    line.add("queued", seconds: queued)
    line.add(waited: waited)
    line.add("connect", seconds: exchange?.connect.inSeconds)
    line.add("tls", seconds: exchange?.tls.inSeconds)
    line.add("first_byte", seconds: exchange?.firstByte.inSeconds)
    line.add("total", seconds: total)
    line.add("time", time)
    return line.line
  }
}

/// A row being processed.
struct CallRow: Sendable {
  let key: RowKey
  /// The name of its list for messages, and its line number there.
  let list: String
  let line: Int
  /// Nil if it could not be read.
  let value: JSONValue?
  /// Whether an earlier run may have sent it, with an unknown outcome.
  private(set) var isInDoubt: Bool
  /// The path of the file for its body, below the folder. Nil for none.
  private(set) var file: String?
  /// The number of its page, from 1. Nil without `--next`.
  private(set) var page: Int?

  init(key: RowKey, list: String, line: Int, value: JSONValue?, isInDoubt: Bool) {
    (self.key, self.list, self.line, self.value, self.isInDoubt) = (key, list, line, value, isInDoubt)
  }

  func saved(to file: String?) -> CallRow {
    var row = self
    row.file = file
    return row
  }

  /// The row at one of its pages. Only the first one has the row's method.
  func at(page: Int) -> CallRow {
    var row = self
    row.page = page
    if page > 1 { row.isInDoubt = false }
    return row
  }

  /// Where it is, for messages.
  var place: String { "\(list):\(line)" + (page.map { ": page \($0)" } ?? "") }
}

extension CallOutcome {
  /// The outcome of a row whose request failed. Nil if it has not ended, and another run may send it.
  ///
  /// - Parameter mayRepeat: Whether it may be sent twice.
  init?(_ error: DispatchError, mayRepeat: Bool) {
    let isGivenUp = [.cancelled, .shutDown, .refusing].contains(error.code)
    switch error.mayHaveReachedServer {
    case false where isGivenUp || error.isOutOfTime: return nil
    case false: self = .notSent
    case true where error.isUnprocessed: self = .failed
    case true where !mayRepeat: self = .unknown
    case true where isGivenUp: return nil
    case true: self = .failed
    }
  }
}

extension DispatchError {
  /// Whether the server may have received the request, in any attempt.
  var mayHaveReachedServer: Bool { earlier != .unsent || attempts > 0 && !phase.isBeforeSending && !lacksBody }

  /// Whether the body of its last attempt could not be opened.
  private var lacksBody: Bool { (underlyingError as? RequestBodyError)?.isBeforeSending ?? false }

  /// Whether no attempt was processed: a server can't take a body for complete that was given up before its last byte, and
  /// no token is asked for again but after a 401.
  fileprivate var isUnprocessed: Bool {
    [.bodyFailed, .interceptorFailed].contains(code) && !wasAnswered && earlier != .lost
  }

  /// Whether the server may have done what was asked, and did not say so. A redirect may be its way to say so, whether
  /// it was followed or refused.
  var leavesDoubt: Bool { wasAnswered || mayHaveReachedServer }

  /// Whether the run's deadline passed before it was sent.
  var isOutOfTime: Bool { (code == .deadlineExceeded || code == .pausedUntil) && attempts == 0 }
}
