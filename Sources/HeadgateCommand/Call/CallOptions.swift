import HTTPTypes
import HeadgateDispatch
import HeadgateReport

/// The checked options of `headgate call`.
struct CallOptions: Sendable {
  /// The options shared by all requests, as for `headgate fetch`.
  var requests = FetchOptions()
  /// The paths of lists of rows; `-` is standard input.
  var lists: [String] = []
  /// Whether all lists are CSV, whatever their names.
  var isCSV = false
  var template = CallTemplate()
  /// The options that determine the requests, as one text. A session belongs to one such text.
  var templateText = ""
  /// The path of the results. Nil for standard output.
  var results: String?
  /// The path of the session's journal. Nil for none.
  var session: String?
  /// The paths of files for the bodies of successes, and the folder that they are below. Nil: bodies go to results.
  var save: SaveTemplate?
  var folder = "."
  /// Where pages name the next one. Nil: no other pages are requested.
  var next: NextPage?
  var leave = CallState.Leave()
  /// The response header fields to include in results.
  var responseFields: [HTTPField.Name] = []
  /// The weights of rows, and the response field with the actual weight.
  var weights: [WeightRule] = []
  var settlement: FieldPath?

  /// A digest of ``templateText``.
  var requestsDigest: String { SHA256.digits(of: templateText.utf8, 32) }

  /// Reads what is not on the command line, and refuses one key for all rows.
  mutating func check(_ standardInput: Int32) throws(FetchProblem) {
    try requests.readElsewhere(standardInput)
    if template.key == nil { try Run.checkKey(requests, "give --idempotency-key auto, or a text with {field}") }
  }

  /// A row's request with its weights.
  func request(_ row: JSONValue, _ key: RowKey) throws(RowProblem) -> DispatchRequest {
    var request = try template.request(row, key, requests)
    request.retry?.repeats = leave.retriesUnsafe ? .all : .unprocessed
    if let most = requests.maxBytes { request.maxBodyBytes = most }
    // A row without the fields of its file is not sent.
    _ = try save?.path(row)
    for rule in weights { request.weights[rule.budget.name] = try rule.weight(of: row) }
    return request
  }

  /// Corrects a request's weight if its response contains the actual one.
  func settle(_ response: DispatchResponse, _ body: JSONValue?) {
    guard let settlement, let value = body.flatMap({ settlement.value(in: $0) }), let units = WeightRule.units(value)
    else { return }
    response.settle(Dictionary(uniqueKeysWithValues: weights.map { ($0.budget.name, units) }))
  }
}
