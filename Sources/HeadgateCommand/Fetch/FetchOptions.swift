import HTTPTypes
import HeadgateDispatch
import HeadgateFlow

/// What `headgate fetch` was asked for, checked.
struct FetchOptions: Sendable {
  /// Where bodies go.
  enum Target: Hashable, Sendable {
    /// To the standard output, one after another in the order of the list.
    case output
    /// To files in a folder, which is made if it is missing.
    case folder(String)
  }

  /// How much is said on the standard error.
  enum Verbosity: Hashable, Sendable { case quiet, normal, verbose }

  /// URLs that were given as arguments; they come first.
  var urls: [String] = []
  /// Paths of lists; `-` is the standard input.
  var lists: [String] = []
  var target = Target.output
  /// Requests at once for each end-point, for those of some hosts, and in all.
  var perHost = EndPointLimits.standard
  var rules: [HostPattern: EndPointLimits] = [:]
  var total = GateLimits.defaultTotal
  /// How many times a URL is asked again.
  var retries = 0
  /// How long a URL may take from its start, and how long the whole run may.
  var maxTime: Duration?
  var deadline: Duration?
  var connectTimeout: Duration? = .seconds(30)
  var idleTimeout: Duration? = .seconds(120)
  var headerFields: HTTPFields = [:]
  /// Whether a file takes the place of one with its name.
  var overwrites = false
  var log: String?
  var verbosity = Verbosity.normal
  /// How connections are made; nil: as nobody said anything.
  var connection: ConnectionOptions?

  /// A URL as a request with these limits and fields.
  func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    var request = try request(over: connection?.unixSocket, url)
    if let cookie = connection?.cookieField { request.headerFields[.cookie] = cookie }
    for field in headerFields { request.headerFields.append(field) }
    // No budget: whoever asks for so many of each URL means that.
    if retries > 0 { request.retry = RetryPolicy(attempts: retries + 1, backoff: .polite, budget: nil) }
    request.timeout = maxTime
    request.connectTimeout = connectTimeout
    request.idleTimeout = idleTimeout
    return request
  }
}

extension FetchOptions {
  /// A request to a URL, or to what it names on a Unix-domain socket, with its host for a name.
  private func request(over socket: EndPoint?, _ url: String) throws(DispatchError) -> DispatchRequest {
    let request = try DispatchRequest(url)
    guard let socket, !request.endPoint.isUnixSocket else { return request }
    let parts = request.url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let path = socket.host.split(separator: "/").map { "%2F" + $0.utf8.map(Self.escaped).joined() }.joined()
    var asked = try DispatchRequest(
      (request.isSecure ? "https" : "http") + "+unix://" + path + "/" + (parts.count > 3 ? parts[3] : ""),
      headerFields: request.headerFields)
    if let host = HTTPField.Name("Host") { asked.headerFields[host] = String(parts[2]) }
    return asked
  }

  private static func escaped(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "%" + (digits.count == 1 ? "0" : "") + digits
  }
}

extension Backoff {
  /// From a second on, doubling up to a minute.
  fileprivate static let polite = Backoff(first: .seconds(1), maximum: .seconds(60))
}
