import HeadgateDispatch
import HeadgateReport
import HeadgateThreads

/// Reports what becomes of each row: in the counts, and on standard error.
final class CallReport: Sendable {
  /// The maximum number of a row's fields that are named.
  private static let mostFields = 20

  private let report: Report
  private let hasNamedFields = Locked(false)

  init(_ report: Report) { self.report = report }

  /// A row's result has been written. A page that another one follows is not counted as a row.
  func ended(_ row: CallRow, _ result: CallResult, bytes: Int, hasNext: Bool = false) {
    report.count { tally in
      if !hasNext { tally.end(result.outcome, error: result.error) }
      tally.bytes += bytes
    }
    if let message = result.message {
      complain(message + fields(of: row, result), result.error ?? "", about: row)
    } else if report.isVerbose {
      let time = result.total.map { "  \(Amount.seconds($0))" } ?? ""
      report.tell("\(result.status ?? 0)  \(Amount.bytes(bytes))\(time)  \(row.place)")
    }
  }

  /// A row that must not be sent twice was sent, and its result can't be written. Each such row is named: no file says
  /// that it was sent.
  func lost(_ row: CallRow, _ result: CallResult, bytes: Int) {
    report.count { tally in
      tally.end(.unknown, error: result.error)
      tally.bytes += bytes
    }
    let answer = result.status.map { "status \($0)" } ?? result.error ?? "sent"
    report.complain("\(row.place): \(answer); its result can't be written, and it must not be sent twice")
  }

  /// A row has a result from an earlier run. If that is not a success, neither is the run as a whole.
  func found(_ outcome: CallOutcome, error: String?) {
    report.count { tally in
      switch outcome {
      case .ok: tally[.doneBefore] += 1
      case .unknown: tally[.unknownBefore] += 1
      case .failed, .notSent:
        tally[.failedBefore] += 1
        tally.note(FailureClass(word: error))
      }
    }
  }

  /// A row's host refuses requests. Another run may send the row, so it has no result.
  func refusing(_ row: CallRow, _ error: DispatchError, at endPoint: EndPoint) {
    report.count { tally in
      tally.fail(.refusing)
      tally[.refusing] += 1
    }
    complain(ErrorText.of(error, askedFor: endPoint), error.code.description, about: row, inResults: false)
  }

  /// The fields of the first row that lacks one: its name is probably misspelt. Empty for other rows.
  private func fields(of row: CallRow, _ result: CallResult) -> String {
    guard result.error == RowProblem.missingField, case .object(let fields)? = row.value, !fields.isEmpty,
      !hasNamedFields.exchange(true)
    else { return "" }
    let names = fields.prefix(Self.mostFields).map(\.name) + (fields.count > Self.mostFields ? ["…"] : [])
    return "; the row has: \(names.joined(separator: ", "))"
  }

  private func complain(_ message: String, _ error: String, about row: CallRow, inResults: Bool = true) {
    report.complain(
      "\(row.place): \(message)", repeating: error,
      others: "more rows have the error \(error); "
        + (inResults ? "the results list each of them, and so does -v" : "see -v"))
  }
}

extension Tally {
  /// A row has its result.
  fileprivate mutating func end(_ outcome: CallOutcome, error: String?) {
    switch outcome {
    case .ok: succeed()
    case .failed, .notSent: fail(FailureClass(word: error))
    case .unknown: self[.unknown] += 1
    }
  }
}

extension FailureClass {
  /// The class of an error code in a result.
  init(word: String?) {
    let codes: [DispatchError.Code] = [
      .fileFailed, .bodyFailed, .interceptorFailed, .tlsFailed, .timedOut, .deadlineExceeded, .connectTimedOut,
      .idleTimedOut, .pausedUntil,
    ]
    switch word {
    case "http_error": self = .http
    case "missing_field", "invalid_row", "invalid_url", DispatchError.Code.tooHeavy.description: self = .usage
    default: self = codes.first { $0.description == word }.flatMap(FailureClass.init) ?? .network
    }
  }
}
