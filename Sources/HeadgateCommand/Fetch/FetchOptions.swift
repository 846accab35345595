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
    /// Nowhere: the standard output has the status of each URL.
    case statuses

    var isFolder: Bool { if case .folder = self { true } else { false } }
  }

  /// How much is said on the standard error.
  enum Verbosity: Hashable, Sendable { case quiet, normal, verbose }

  /// URLs that were given as arguments; they come first.
  var urls: [String] = []
  /// Paths of lists; `-` is the standard input.
  var lists: [String] = []
  /// What is done with the URLs of lists.
  var list = ListRules()
  var target = Target.output
  /// Whether the distance of starts is the usual one, which is not kept at this machine itself.
  var sparesLoopback = false
  /// Requests at once for each end-point, for those of some hosts, and in all.
  var perHost = EndPointLimits.standard
  var rules: [HostPattern: EndPointLimits] = [:]
  var total = GateLimits.defaultTotal
  /// When a host pauses as a whole; nil: never, and no URL waits for as long as Retry-After says either.
  var pauses: PausePolicy? = PausePolicy()
  /// When a host that can't be reached sleeps; nil: never.
  var breaker: BreakerPolicy?
  /// Whether hosts' limits are learned from their refusals, and where they are kept.
  var isAdaptive = false
  var adaptiveFile: String?
  /// How many times a URL is asked again.
  var retries = 0
  /// How long a URL may take from its start, and how long the whole run may.
  var maxTime: Duration?
  var deadline: Duration?
  var connectTimeout: Duration? = .seconds(30)
  var idleTimeout: Duration? = .seconds(120)
  var headerFields: HTTPFields = [:]
  /// Fields and passwords that are elsewhere: `readSecrets` gets them.
  var headerSources: [HeaderSource] = []
  var passwordFile: String?
  private var passwords: Netrc?
  /// How many redirects a URL may take, and which ones.
  var maxRedirects = 20
  var redirects = RedirectRule()
  /// The most bytes of a body, the least speed, and the most bytes that wait on the disk for their turn.
  var maxBytes: Int?
  var leastSpeed: TransferSpeed?
  var maxHeld = 4 << 30
  /// Whether a file takes the place of one with its name.
  var overwrites = false
  /// The journal of a session; nil: none. Whether only what failed is asked for, and whether what is there is renewed.
  var session: String?
  var retryFailed = false
  var newer = false
  var log: String?
  /// The page that shows the run at its end.
  var page: String?
  var verbosity = Verbosity.normal
  var progress = ProgressMode.auto
  /// How connections are made; nil: as nobody said anything.
  var connection: ConnectionOptions?

  /// The folder that files go to; the current one where none is named.
  var folder: String { if case .folder(let folder) = target { folder } else { "." } }

  /// A URL as a request with these limits and fields.
  func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    let plain = try DispatchRequest(url)
    var request = try over(connection?.unixSocket, plain)
    if let cookie = connection?.cookieField { request.headerFields[.cookie] = cookie }
    // One of each request: that of the options, else the URL's, else that of the host.
    if headerFields[.authorization] != nil {
      request.headerFields[.authorization] = nil
    } else if request.headerFields[.authorization] == nil, !plain.endPoint.isUnixSocket {
      request.headerFields[.authorization] = passwords?.authorization(for: plain.endPoint.host)
    }
    for field in headerFields { request.headerFields.append(field) }
    request.maxRedirects = maxRedirects
    request.redirects = redirects.policy
    request.maxDownloadBytes = maxBytes
    request.leastSpeed = leastSpeed
    request.retry = retryPolicy(attempts: retries + 1)
    request.timeout = maxTime
    request.connectTimeout = connectTimeout
    request.idleTimeout = idleTimeout
    return request
  }
}

extension FetchOptions {
  /// What is waited between two times.
  static let backoff = Backoff.polite

  /// The rules by which a URL is sent so many times; nil for one time.
  func retryPolicy(attempts: Int) -> RetryPolicy? {
    guard attempts > 1 else { return nil }
    // No budget: those who ask for so many of each URL mean that.
    var retry = RetryPolicy(attempts: attempts, backoff: Self.backoff, budget: nil)
    // The pause of the whole host has a longest of its own.
    retry.longestRetryAfter = .seconds(366 * 86_400)
    retry.ignoresRetryAfter = pauses == nil
    return retry
  }

  /// Reads the fields and passwords that are elsewhere.
  mutating func readSecrets() throws(FetchProblem) {
    for source in headerSources { for field in try source.fields() { headerFields.append(field) } }
    headerSources = []
    if let passwordFile { passwords = try NetrcFile.read(passwordFile) }
  }

  /// The request, or one for what its URL names on a Unix-domain socket, with its host for a name.
  private func over(_ socket: EndPoint?, _ request: DispatchRequest) throws(DispatchError) -> DispatchRequest {
    guard let socket, request.endPoint != socket else { return request }
    guard !request.endPoint.isUnixSocket else {
      throw DispatchError(.invalidURL, detail: "it names another socket than --unix-socket")
    }
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
