import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads
import Logging

// Everything that can fail early fails here, before anything is fetched.

extension FetchRun {
  static func openLists(_ paths: [String], _ format: ListFormat, _ input: Int32) throws(FetchProblem) -> (
    StopSignal, [InputReader<NumberedLine>]
  ) {
    let stop: StopSignal
    do throws(SystemError) { stop = try StopSignal() } catch { throw FetchProblem("\(error)") }
    var lists: [InputReader<NumberedLine>] = []
    for path in paths {
      do throws(SystemError) {
        lists.append(try InputReader(path, standardInput: input, cutter: format.cutter, stop: stop))
      } catch {
        throw InputProblem.of("list", path, error)
      }
    }
    return (stop, lists)
  }

  /// Reports incomplete files of an earlier run, which a run without a session neither continues nor removes.
  func remarkOnParts(_ names: [String]) {
    let parts = names.filter { $0.hasSuffix(".part") }.sorted()
    guard let first = parts.first else { return }
    let others = parts.count > 1 ? " and \(parts.count - 1) more are" : " is"
    report.remark(
      "\(ShownText.of(FileName.path(first, in: options.folder)))\(others) incomplete, from a run that was killed or is "
        + "under way; with --session FILE from the first run on, such files are continued")
  }

  /// - Parameter syncs: Whether it must survive a power cut.
  static func makeFolder(_ folder: String, syncs: Bool) throws(FetchProblem) {
    do throws(SystemError) {
      try Descriptor.makeFolder(folder, syncs: syncs)
    } catch {
      let isFile = error.errno == ENOTDIR && access(folder, F_OK) == 0
      throw FetchProblem(
        isFile
          ? "\(folder) is a file, but -P needs a folder; give another name"
          : "the folder \(folder) can't be made: \(error); give another one with -P")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw FetchProblem("the folder \(folder) can't be written to: \(SystemError.last); give another one with -P")
    }
  }

  /// Refuses to repeat the failures of a session that does not exist, usually a misspelt one: the run would do nothing,
  /// successfully. Nothing has been made then.
  static func checkSession(_ options: FetchOptions) throws(FetchProblem) {
    guard options.retryFailed, let path = options.session else { return }
    guard access(path, F_OK) != 0, errno == ENOENT else { return }
    throw FetchProblem(
      "there is no session \(path), whose failures --retry-failed would repeat; give the file of an earlier run",
      status: .usage)
  }

  /// The journal; nil without `--session`.
  static func openSession(_ options: FetchOptions) throws(FetchProblem) -> Session? {
    guard let path = options.session else { return nil }
    return try Session(
      path, folder: options.folder, retryFailed: options.retryFailed, newer: options.newer,
      overwrites: options.overwrites)
  }

  static func checkTrust(_ options: FetchOptions) throws(FetchProblem) {
    let connection = options.connection
    for file in [connection?.cacert, connection?.cert, connection?.key].compactMap({ $0 }) {
      do throws(SystemError) {
        Descriptor.close(try Descriptor.openForReading(file))
      } catch {
        throw FetchProblem("the certificates in \(file) can't be read: \(error)")
      }
    }
  }

  /// The jar for servers' cookies. Nil without a cookie option.
  static func makeJar(_ options: FetchOptions) throws(FetchProblem) -> CookieJar? {
    guard let connection = options.connection, connection.keepsCookies else { return nil }
    do throws(DispatchError) {
      if let file = connection.cookieFile { return try CookieJar(file: file) }
      return try CookieJar()
    } catch {
      throw FetchProblem(error.detail)
    }
  }

  /// Refuses one Idempotency-Key for all requests of a list whose method may have an effect twice.
  static func checkKey(_ options: FetchOptions) throws(FetchProblem) {
    guard !options.sent.isIdempotent, !options.lists.isEmpty || options.urls.count > 1 || options.retriesAll else {
      return
    }
    try checkKey(options, "use headgate call, whose --idempotency-key auto gives each request its own")
  }

  /// Refuses a field Idempotency-Key that is the same for several requests.
  ///
  /// - Parameter advice: What to do instead.
  static func checkKey(_ options: FetchOptions, _ advice: String) throws(FetchProblem) {
    guard let name = CallTemplate.idempotencyKey, options.headerFields[name] != nil || options.hostFields.have(name)
    else { return }
    throw FetchProblem(
      "the field Idempotency-Key would be the same for all requests, so a server would process only one of them: "
        + advice, status: .usage)
  }

  /// - Parameter isContinued: Whether the run continues a session, and its log the earlier one.
  static func openLog(
    _ path: String?, _ output: Int32, isContinued: Bool, on crew: LaneCrew
  ) throws(FetchProblem) -> LineWriter? {
    guard let path else { return nil }
    if path == "-" { return LineWriter(output, on: crew) }
    do throws(CreationError) {
      return LineWriter(try Descriptor.create(path, existing: isContinued ? .isContinued : .isReplaced), on: crew)
    } catch {
      throw FetchProblem("the log \(path) can't be written: \(error)")
    }
  }

  static func makeTransport(_ options: FetchOptions, _ cookies: CookieJar?) throws(FetchProblem) -> CurlTransport {
    do {
      return try CurlTransport(
        configuration: options.connection?.configuration(cookies) ?? CurlTransport.Configuration())
    } catch let problem as FetchProblem {
      throw problem
    } catch let error as DispatchError where error.code == .proxyFailed {
      throw FetchProblem("\(error.detail); correct it, or give --proxy URL, or --proxy '' for none", status: .usage)
    } catch {
      throw FetchProblem("\(error)")
    }
  }

  /// Waits for the end of everything, and tells the programs that share the limits that this one has gone.
  static func shutDown(_ dispatcher: URLDispatcher) async {
    await dispatcher.shutDown(.drain)
    await dispatcher.gate.coordinator?.shutDown(waitingUntil: .after(.seconds(1)))
  }

  static func makeDispatcher(
    _ options: FetchOptions, over transport: CurlTransport, _ timeline: RunTimeline?, _ logger: Logger
  ) throws(FetchProblem) -> URLDispatcher {
    let coordinator = try options.share?.coordinator(options.outage)
    if let coordinator, options.verbosity != .quiet { logger.notice("\(coordinator.description)") }
    do {
      let adaptive =
        options.isAdaptive
        ? AdaptivePolicy(
          memory: .seconds(3600), remembered: try options.adaptiveFile.map(LearnedFile.read) ?? LearnedLimits())
        : nil
      let limits = try GateLimits(
        endPoint: options.perHost,
        rules: options.rules,
        total: options.total,
        bandwidth: options.bandwidth,
        // See `mostQueued`.
        waiting: max(lookahead, 4 * options.total),
        overflow: .wait,
        pauses: options.pauses,
        breaker: options.breaker,
        adaptive: adaptive
      )
      return URLDispatcher(
        transport: transport, limits: limits, logger: logger, observers: timeline.map { [$0] } ?? [],
        interceptors: options.interceptors, coordinator: coordinator)
    } catch let problem as FetchProblem {
      throw problem
    } catch {
      throw FetchProblem("\(error)")
    }
  }
}

// Remarks on requests other than GET.

extension FetchRun {
  /// Points out effects that a user might expect from the options but that they don't have.
  ///
  /// - Parameter otherFailures: The number of failures in the session with other methods and bodies.
  func remarkOnSending(otherFailures: Int) {
    if otherFailures > 0 {
      report.remark(
        "\(otherFailures) URLs of the session failed with another method or body; give the same -X, -d or --json to "
          + "repeat them")
    }
    // Any URL will do: only the method and the fields matter.
    guard options.asksForRetries, options.retries > 0, let sample = try? options.request("http://a/"),
      !options.sent.mayRepeat(sample)
    else {
      return
    }
    report.remark(
      "--retry does not repeat \(options.sent.method.rawValue), which may have an effect twice; an Idempotency-Key field "
        + "or --retry-unsafe allows it")
  }
}

extension FetchRun {
  /// Saves the cookies and the learned limits in the files that the options name. If a file can't be written, the run
  /// has a fault.
  static func save(
    _ cookies: CookieJar?, learnedBy gate: EndPointGate, _ options: FetchOptions,
    fault: (FailureClass, String) -> Void
  ) {
    if let file = options.connection?.cookieJar, let cookies {
      do throws(DispatchError) { try cookies.save(to: file) } catch { fault(.file, error.detail) }
    }
    if let file = options.adaptiveFile {
      do throws(FetchProblem) { try LearnedFile.write(learnedBy: gate, to: file) } catch {
        fault(.file, error.description)
      }
    }
  }
}
