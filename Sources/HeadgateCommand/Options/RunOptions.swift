import ArgumentParser
import HTTPTypes
import HeadgateDispatch

/// The options that all commands which send requests have in common.
struct RunOptions: ParsableArguments {
  @OptionGroup
  var limits: LimitOptions

  @OptionGroup
  var retries: RetryOptions

  @OptionGroup(title: "Pace")
  var pace: PaceOptions

  @OptionGroup(title: "Later runs")
  var state: StateOptions

  @OptionGroup(title: "Sharing")
  var sharing: ShareOptions

  @OptionGroup(title: "Credentials")
  var credentials: CredentialOptions

  @OptionGroup(title: "Connection")
  var connection: ConnectionOptions

  @OptionGroup
  var progress: ProgressOptions

  @OptionGroup
  var settings: SettingsOptions

  func validate() throws {
    try OptionValue.checkFile(connection.cookieJar, of: "--cookie-jar")
    try OptionValue.checkFile(pace.adaptiveFile, of: "--adaptive-file")
    do throws(OptionError) { _ = try groups() } catch { throw ValidationError("\(error)") }
  }

  /// The hosts that have one budget together.
  private func groups() throws(OptionError) -> HostGroups {
    try HostGroups(limits.groups, limits: limits.rules, rates: pace.rates, bandwidths: pace.bandwidths)
  }

  /// The options of a run, without header fields, which each command reads in its own way.
  ///
  /// - Parameter budgets: The budgets for the total weight of the requests to each host.
  func options(_ budgets: [Budget] = []) throws -> FetchOptions {
    var options = FetchOptions()
    options.groups = try groups()
    options.hostsAreOwn = settings.config.isEmpty
    (options.perHost, options.rules) = try pace.limits(
      perHost: limits.perHost, limits.rules, besides: options.groups, budgets: budgets)
    options.sparesLoopback = pace.minInterval == nil
    options.pauses = pace.pauses
    options.rateFields = RateLimitFields(standardAfter: pace.rateFields)
    options.breaker = pace.breaker
    options.isAdaptive = pace.adaptive || pace.adaptiveFile != nil
    options.adaptiveFile = pace.adaptiveFile
    // With a cap, the user has chosen to ask before the times that hosts have named, which the state would not.
    options.state = pace.retryAfter == .honour || state.state != nil ? state.place : nil
    options.total = try limits.total()
    options.bandwidth = pace.bandwidth
    (options.share, options.outage) = (sharing.share, sharing.shareOutage ?? .failClosed())
    (options.retries, options.asksForRetries) = (retries.count, retries.retry != nil)
    options.sent.repeatsUnsafe = retries.retryUnsafe
    (options.maxTime, options.deadline) = (limits.maxTime, limits.deadline)
    (options.connectTimeout, options.idleTimeout) = (limits.connectTimeout, limits.idleTimeout)
    if let agent = credentials.userAgent { options.headerFields[.userAgent] = agent }
    (options.users, options.answersDigest) = (credentials.users, credentials.digest)
    (options.tokenCommand, options.tokenHosts) = (credentials.tokenCommand, TokenHosts(credentials.tokenHosts))
    options.passwordFile = try credentials.passwordFile()
    options.redirects.socket = connection.unixSocket
    (options.progress, options.progressDescriptor) = (progress.progress.mode, progress.progress.descriptor)
    options.verbosity = progress.verbosity
    options.connection = connection
    return options
  }
}

/// How often a request is sent.
struct RetryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Retry a request this many times after a network failure (no connection, a refused connection, a truncated body) "
        + "or a status of 408, 421, 425, 429, 500, 502, 503, 504 or 520 to 524, with increasing waits, or at the end of "
        + "the host's pause. A refusal that pauses the host counts only after --host-patience. "
        + "A POST or PATCH without an Idempotency-Key field is retried only if it was not processed: no connection, 421, "
        + "425 or 429. A file that broke off is continued if the server names its version with an ETag; otherwise it "
        + "begins anew. (default: 3)",
      valueName: "n"
    ),
    transform: OptionValue.retries
  )
  var retry: Int?

  @Flag(
    help: ArgumentHelp(
      "Repeat requests that must not be sent twice too, with --retry and --session: POST and PATCH without an "
        + "Idempotency-Key field. For servers that detect duplicates."))
  var retryUnsafe = false

  /// The number of retries.
  var count: Int { retry ?? 3 }

  /// Refuses `--retry-unsafe` if nothing is repeated.
  func check(hasSession: Bool) throws {
    guard !retryUnsafe || count > 0 || hasSession else {
      throw ValidationError("--retry-unsafe applies to repeated requests: give --retry N or --session FILE too.")
    }
  }
}
