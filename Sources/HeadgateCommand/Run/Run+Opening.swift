import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads
import Logging

// Everything that can fail early fails here, before anything is sent.

extension Run {
  /// Opens lists of URLs or rows.
  ///
  /// - Parameters:
  ///   - kind: What they are, for messages.
  ///   - cutter: The cutter for a path.
  /// - Returns: The lists, and what stops their reading.
  static func openLists<Item>(
    _ kind: String, _ paths: [String], _ input: Int32, _ cutter: (String) -> any InputCutter<Item>
  ) throws(FetchProblem) -> (StopSignal, [InputReader<Item>]) {
    let stop: StopSignal
    do throws(SystemError) { stop = try StopSignal() } catch { throw FetchProblem("\(error)") }
    var lists: [InputReader<Item>] = []
    for path in paths {
      do throws(SystemError) {
        lists.append(try InputReader(path, standardInput: input, cutter: cutter(path), stop: stop))
      } catch {
        throw InputProblem.of(kind, path, error)
      }
    }
    return (stop, lists)
  }

  /// Refuses certificates that can't be read.
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

  /// The jar for servers' cookies. Nil without a cookie option.
  static func jar(_ options: FetchOptions) throws(FetchProblem) -> CookieJar? {
    guard let connection = options.connection, connection.keepsCookies else { return nil }
    do throws(DispatchError) {
      if let file = connection.cookieFile { return try CookieJar(file: file) }
      return try CookieJar()
    } catch {
      throw FetchProblem(error.detail)
    }
  }

  static func transport(_ options: FetchOptions, _ cookies: CookieJar?) throws(FetchProblem) -> CurlTransport {
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

  static func dispatcher(
    _ options: FetchOptions, over transport: CurlTransport, _ timeline: RunTimeline?, _ logger: Logger,
    remark: @escaping @Sendable (String) -> Void
  ) throws(FetchProblem) -> URLDispatcher {
    let coordinator = try options.share?.coordinator(options.outage)
    if let coordinator, options.verbosity != .quiet { logger.notice("\(coordinator.description)") }
    let remembered = try options.adaptiveFile.map(LearnedFile.read) ?? LearnedLimits()
    let limits: GateLimits
    do throws(LimitError) {
      limits = try GateLimits(
        endPoint: options.perHost,
        rules: options.rules,
        scopes: options.groups.limits,
        total: options.total,
        bandwidth: options.bandwidth,
        // See `mostQueued`.
        waiting: max(lookahead, 4 * options.total),
        overflow: .wait,
        pauses: options.pauses,
        breaker: options.breaker,
        adaptive: options.isAdaptive ? AdaptivePolicy(memory: .seconds(3600), remembered: remembered) : nil
      )
    } catch {
      throw FetchProblem("\(error)")
    }
    return URLDispatcher(
      transport: transport, limits: limits, logger: logger, observers: timeline.map { [$0] } ?? [],
      interceptors: options.interceptors, coordinator: coordinator, state: options.state?.open(report: remark),
      rateLimitFields: options.rateFields)
  }
}
