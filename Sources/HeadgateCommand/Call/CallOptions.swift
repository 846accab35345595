import HTTPTypes
import HeadgateDispatch
import HeadgateReport

/// What `headgate call` was asked for, checked.
struct CallOptions: Sendable {
  /// What holds for all requests, as for those of `headgate fetch`.
  var requests = FetchOptions()
  /// Paths of lists of rows; `-` is the standard input.
  var lists: [String] = []
  /// Whether all of them are CSV, whatever their names.
  var isCSV = false
  var template = CallTemplate()
  /// What the options make of rows, in one text: a session is for one of these.
  var templateText = ""
  /// Where results go; nil: to the standard output.
  var results: String?
  /// The journal of a session; nil: none.
  var session: String?
  var leave = CallState.Leave()
  /// The response header fields that results have.
  var responseFields: [HTTPField.Name] = []
  /// What rows weigh, and where a response says what it really was.
  var weights: [WeightRule] = []
  var settlement: FieldPath?

  /// A digest of ``templateText``.
  var requestsDigest: String {
    SHA256.sum(templateText.utf8).prefix(16).map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// A row's request, with its weight.
  func request(_ row: JSONValue, _ key: RowKey) throws(RowProblem) -> DispatchRequest {
    var request = try template.request(row, key, requests)
    request.retry?.repeatsUnsafeMethods = leave.retriesUnsafe
    if let most = requests.maxBytes { request.maxBodyBytes = most }
    for rule in weights { request.weights[rule.budget.name] = try rule.weight(of: row) }
    return request
  }

  /// Tells what a request really weighed, if its response says so.
  func settle(_ response: DispatchResponse, _ body: JSONValue?) {
    guard let settlement, let value = body.flatMap({ settlement.value(in: $0) }), let units = WeightRule.units(value)
    else { return }
    response.settle(Dictionary(uniqueKeysWithValues: weights.map { ($0.budget.name, units) }))
  }
}
