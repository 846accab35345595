import HTTPTypes
import HeadgateDispatch
import HeadgateFlow

/// The options of `headgate fetch`, after validation.
struct FetchOptions: Sendable {
  /// Where bodies go.
  enum Target: Hashable, Sendable {
    /// To the standard output, one after another in the order of the list.
    case output
    /// To files in a folder, which is made if it is missing.
    case folder(String)
    /// Nowhere: standard output gets the status of each URL.
    case statuses

    var isFolder: Bool { if case .folder = self { true } else { false } }
  }

  /// How much is written to standard error.
  enum Verbosity: Hashable, Sendable { case quiet, normal, verbose }

  /// URLs from the arguments. They come before those of lists.
  var urls: [String] = []
  /// Paths of lists. `-` is standard input.
  var lists: [String] = []
  /// What is done with the URLs of lists.
  var list = ListRules()
  var target = Target.output
  /// Whether the default spacing of starts is in force. It does not apply to servers on this machine.
  var sparesLoopback = false
  /// The limits of concurrent requests: per end-point, for the hosts of patterns, and in total.
  var perHost = EndPointLimits.standard
  var rules: [HostPattern: EndPointLimits] = [:]
  var total = GateLimits.defaultTotal
  /// The hosts that have one budget together.
  var groups = HostGroups()
  /// Whether all groups and rules come from the command line.
  var hostsAreOwn = true
  /// The bandwidth of all transfers together, in bytes per second. Nil: no limit.
  var bandwidth: Int?
  /// When a host pauses. Nil: never, and the retries of a single URL ignore Retry-After too.
  var pauses: PausePolicy? = PausePolicy()
  /// The header fields in which servers state waits and quotas.
  var rateFields = RateLimitFields.standard
  /// When the breaker of an unreachable host opens. Nil: never.
  var breaker: BreakerPolicy?
  /// Whether limits are learned from refusals, and the file that stores them between runs.
  var isAdaptive = false
  var adaptiveFile: String?
  /// Where what hosts have said is kept for later runs. Nil: nowhere.
  var state: StatePlace?
  /// The programs that share the limits, if any, and what starts while the coordinator can't be reached.
  var share: ShareRule?
  var outage = OutagePolicy.failClosed()
  /// How many times a URL is retried, and whether the user has said so.
  var retries = 0
  var asksForRetries = false
  /// The number of failed URLs after which nothing new starts. Nil for no limit.
  var maxFailures: Int?
  /// The time limit of a URL from its start, and of the whole run.
  var maxTime: Duration?
  var deadline: Duration?
  /// How long a run that was stopped may count the lines that it has not read, a time that users hardly notice. For
  /// millions of them it takes seconds.
  var countingTime = Duration.seconds(1)
  var connectTimeout: Duration? = .seconds(30)
  var idleTimeout: Duration? = .seconds(120)
  /// The method and the body for every URL, and the source of the body.
  var sent = SentRequest()
  var bodySource: BodySource?
  var headerFields: HTTPFields = [:]
  /// Fields for some hosts only.
  var hostFields = HostFields()
  /// Sources outside the command line. `readElsewhere` reads them.
  var headerSources: [HeaderSource] = []
  /// The users whose passwords `readElsewhere` asks for, and whether they answer Digest challenges.
  var users: [UserSource] = []
  var answersDigest = false
  /// The command that prints a token, and the hosts that it is for.
  var tokenCommand: TokenCommand?
  var tokenHosts = TokenHosts([])
  var passwordFile: String?
  /// The files that header fields come from.
  private(set) var headerFiles: [String] = []
  private var passwords: Netrc?
  private var digests: [DigestCredentials] = []
  /// How many redirects are followed for a URL, and which ones.
  var maxRedirects = 20
  var redirects = RedirectRule()
  /// The largest body in bytes, the least speed, and the most bytes that are stored on disk while bodies and lines wait
  /// for their turn.
  var maxBytes: Int?
  var minimumSpeed: TransferSpeed?
  var maxHeld = 4 << 30
  /// The paths of files below the folder. Nil: names made from URLs.
  var template: OutputTemplate?
  /// Whether files get the names in the responses.
  var takesNames = false
  /// Whether files get the times of Last-Modified.
  var takesTimes = false
  /// Whether bodies are requested compressed and stored unpacked.
  var unpacks = false
  /// Whether a file replaces an existing one of the same name.
  var overwrites = false
  /// The journal of a session, nil without one; whether only failed URLs are fetched again; whether complete files are
  /// revalidated.
  var session: String?
  var retryFailed = false
  /// Whether the journal takes the place of a list.
  var retriesAll: Bool { retryFailed && urls.isEmpty && lists.isEmpty }
  var newer = false
  var log: String?
  /// The HTML report that is written at the end.
  var page: String?
  var verbosity = Verbosity.normal
  var progress = ProgressMode.auto
  /// Where the objects of `json` go. Nil for standard error.
  var progressDescriptor: Int32?
  /// How connections are made. Nil: the defaults.
  var connection: ConnectionOptions?

  /// The folder for files. The current one by default.
  var folder: String { if case .folder(let folder) = target { folder } else { "." } }

  /// The fields for all hosts, cookies of the options included.
  var fieldsForAll: HTTPFields {
    var fields = headerFields
    if let cookie = connection?.cookieField { fields[.cookie] = cookie }
    return fields
  }

  /// Those that answer challenges, and the tokens, passwords and groups of the hosts that redirects lead to.
  var interceptors: [any RequestInterceptor] {
    var all: [any RequestInterceptor] = digests
    if let tokenCommand { all.append(CommandTokens(for: tokenHosts, tokenCommand)) }
    if let redirectPasswords { all.append(redirectPasswords) }
    if !groups.isEmpty, maxRedirects > 0 { all.append(RedirectGroups(groups: groups)) }
    return all
  }

  /// The passwords for the targets of redirects. Nil without a file.
  var redirectPasswords: RedirectPasswords? {
    passwords.map { passwords in
      RedirectPasswords(passwords: passwords) { [isForAll = headerFields[.authorization] != nil, hostFields] endPoint in
        isForAll || hostFields.have(.authorization, for: endPoint)
      }
    }
  }

  /// Makes a request for a URL, with these limits and fields.
  func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    let plain = try DispatchRequest(url)
    var request = try over(connection?.unixSocket, plain)
    if let cookie = connection?.cookieField { request.headerFields[.cookie] = cookie }
    // In order of precedence: the field of the options, the URL's credentials, the netrc entry of the host.
    if headerFields[.authorization] != nil {
      request.headerFields[.authorization] = nil
    } else if tokenCommand != nil, tokenHosts.include(request), let mark = CommandTokens.mark {
      request.headerFields[mark] = "1"
    } else if request.headerFields[.authorization] == nil, !plain.endPoint.isUnixSocket {
      request.headerFields[.authorization] = passwords?.authorization(for: plain.endPoint.host)
    }
    for field in headerFields { request.headerFields.append(field) }
    hostFields.apply(to: &request.headerFields, for: plain.endPoint)
    if !groups.isEmpty { request.scopes = groups.scopes(of: plain.endPoint) }
    sent.apply(to: &request)
    request.maxRedirects = maxRedirects
    request.redirects = redirects.policy
    request.maxDownloadBytes = maxBytes
    request.minimumSpeed = minimumSpeed
    if unpacks { request.acceptsCompression = true }
    request.retry = retryPolicy(attempts: retries + 1)
    request.timeout = maxTime
    request.timeoutEndsWithHead = false
    request.connectTimeout = connectTimeout
    request.idleTimeout = idleTimeout
    return request
  }
}

extension FetchOptions {
  /// The wait between two attempts.
  static let backoff = Backoff.polite

  /// The policy for this number of attempts. Nil for a single one.
  func retryPolicy(attempts: Int) -> RetryPolicy? {
    guard attempts > 1 else { return nil }
    // No budget: the user has set the number of attempts explicitly.
    var retry = RetryPolicy(attempts: attempts, backoff: Self.backoff, budget: .none)
    // The length of a host's pause is capped separately.
    retry.maxRetryAfter = .seconds(366 * 86_400)
    retry.ignoresRetryAfter = pauses == nil
    retry.repeats = sent.repeatsUnsafe ? .all : .unprocessed
    return retry
  }

  /// A URL with mirrors is not retried unless the user has asked for that: the next mirror answers sooner.
  func prefersMirrors(of job: inout FetchJob) {
    if !asksForRetries, !job.mirrors.isEmpty { job.request.retry = nil }
  }

  /// Adds a field, or the source of fields.
  mutating func take(_ source: HeaderSource) {
    switch source {
    case .field(let field): headerFields.append(field)
    case .only(let pattern, .field(let field)): hostFields.add(field, for: pattern)
    default: headerSources.append(source)
    }
  }

  /// Reads the header fields, the passwords and the body that are not on the command line.
  ///
  /// - Parameter standardInput: The source of the body `@-`.
  mutating func readElsewhere(_ standardInput: Int32) throws(FetchProblem) {
    if let bodySource { sent.body = try bodySource.read(standardInput) }
    headerFiles = headerSources.compactMap(\.path)
    for source in headerSources {
      for field in try source.fields() {
        if let pattern = source.pattern { hostFields.add(field, for: pattern) } else { headerFields.append(field) }
      }
    }
    headerSources = []
    let patterns = users.compactMap(\.pattern)
    for user in users {
      let user = try user.read(ask: PasswordPrompt.ask)
      if answersDigest {
        digests += [user.digest(among: patterns)].compactMap { $0 }
      } else {
        take(user.pattern.map { .only($0, .field(user.basic)) } ?? .field(user.basic))
      }
    }
    users = []
    if let passwordFile { passwords = try NetrcFile.read(passwordFile) }
  }

  /// The request itself, or with `--unix-socket` a request for the same path over the socket, with the original host in
  /// its Host field.
  private func over(_ socket: EndPoint?, _ request: DispatchRequest) throws(DispatchError) -> DispatchRequest {
    guard let socket, request.endPoint != socket else { return request }
    guard !request.endPoint.isUnixSocket else {
      throw DispatchError(.invalidURL, detail: "its socket is not that of --unix-socket")
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
  /// Starts at one second and doubles up to a minute.
  fileprivate static let polite = Backoff(first: .seconds(1), maximum: .seconds(60))
}
