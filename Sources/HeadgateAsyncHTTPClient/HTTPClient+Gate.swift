#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

extension HTTPClient {
  /// Sends a request once it holds a permit of its end-point, and returns the response when its head has arrived.
  ///
  ///     let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
  ///     let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 4)))
  ///     let response = try await client.execute(HTTPClientRequest(url: "https://example.com/"), through: gate)
  ///     let page = try await response.body.collect(upTo: 1 << 20)
  ///
  /// The permit is held until the body has ended, was dropped or was cancelled: read the body, or drop the response. A
  /// response without a body holds none.
  /// After a drop or a cancellation it is returned once the client has closed the connection, or the stream of HTTP/2.
  ///
  /// Each redirect needs a permit of its own end-point, which it gets after the last one was returned. A client that
  /// follows redirects by itself would send them without permits, so it is refused. A redirect that asks for
  /// the same body again is not followed: it is the response.
  ///
  /// A response that refuses (429, 503, or 403 with a wait), and what a server says of its quotas, is reported to the
  /// gate, where it pauses all that passes the gate. So is a connection that could not be made.
  ///
  /// The gate limits requests. The client's sockets are its own: idle ones are not counted.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - gate: The gate, which may also be that of a dispatcher.
  ///   - lane: The lane: `long` for a response that stays open.
  ///   - priority: The place among waiting requests for the same end-point.
  ///   - scopes: The scopes that the request belongs to, besides its end-point. See `GateLimits.scopes`.
  ///   - weights: The expected weights, by budget name.
  ///   - timeout: The maximum time from a permit to the response's head, for each redirect anew. Waiting for a permit
  ///     does not count. Nil: no limit.
  ///   - deadline: The maximum time to wait for permits, from this call. Nil: no limit. Zero or less ends the call at
  ///     once.
  ///   - redirects: Which redirects are followed. A redirect to another scheme, host or port keeps only header fields
  ///     that can't be secret: see `DispatchRequest.redirects`.
  ///   - maxRedirects: The maximum number of redirects. With 0 the redirect itself is the response.
  ///   - rateLimitFields: The header fields in which the server states waits and quotas.
  ///   - logger: The client's logger for the request. Nil: none.
  /// - Returns: The response. Its history has the redirects that were followed.
  /// - Throws: `DispatchError`: `unsupported` if the client follows redirects by itself, or if the policy refuses
  ///   private addresses, which the client does not tell; `invalidURL`; `tooManyRedirects`, `redirectRefused` and
  ///   `badRedirect`; and the errors of `EndPointGate.permit`. Other errors are the client's own.
  public func execute(
    _ request: HTTPClientRequest, through gate: EndPointGate, lane: RequestLane = .short,
    priority: RequestPriority = .normal, scopes: [RequestScope] = [], weights: [String: Int] = [:],
    timeout: Duration? = .seconds(60), deadline: Duration? = nil, redirects: RedirectPolicy = .noDowngrade,
    maxRedirects: Int = 20, rateLimitFields: RateLimitFields = .standard, logger: Logger? = nil
  ) async throws -> HTTPClientResponse {
    var (request, target) = (request, try DispatchRequest(request, redirects, maxRedirects))
    guard !followsRedirects else { throw DispatchError.followsByItself(target.endPoint) }
    guard !redirects.refusesPrivateAddresses else {
      throw DispatchError(.unsupported, endPoint: target.endPoint, detail: "the client does not tell addresses")
    }
    let end = deadline.map { gate.timers.now + $0 }
    var history: [HTTPClientRequestResponse] = []
    while true {
      let permit = try await gate.permit(
        for: target.endPoint, lane: lane, priority: priority, scopes: scopes, weights: weights,
        deadline: end.map { $0 - gate.timers.now })
      let held = HeldPermit(permit, eventLoopGroup)
      var response: HTTPClientResponse
      do {
        response = try await execute(
          request, deadline: timeout.map { .now() + TimeAmount($0) } ?? .distantFuture, logger: logger)
      } catch {
        if error.isFailureToConnect { permit.report(.unreachable) }
        held.releaseAfterFailure()
        throw error
      }
      let head = ResponseHead(response)
      permit.report(head, by: rateLimitFields)
      let body = PermittedBody(response.body, held)
      // Otherwise a client whose settings could not be read has followed a redirect.
      guard response.history.count <= 1 else { throw DispatchError.followsByItself(target.endPoint) }
      // The server is done with a request whose response has no body.
      if head.bringsBody(to: target.method), head.declaredLength != 0 { response.body = .stream(body) }
      let next: DispatchRequest?
      do throws(DispatchError) {
        next = try Redirect.next(after: target, by: head, redirects: history.count)
      } catch {
        throw error.at(target.endPoint, waited: permit.waited)
      }
      history += response.history
      response.history = history
      guard let next, let followed = request.redirected(to: next) else { return response }
      await response.body.readShortRest()
      (request, target) = (followed, next)
    }
  }

  /// Whether its configuration lets it follow redirects. The client does not tell, so it is looked at; false if that
  /// shows nothing. Only constants come before the configuration, and no other property is read.
  private var followsRedirects: Bool {
    let found = Mirror(reflecting: self).children.first { $0.label == "configuration" }?.value
    guard let configuration = found as? Configuration else { return false }
    let mode = Mirror(reflecting: configuration.redirectConfiguration).children.first { $0.label == "mode" }?.value
    return mode.map { "\($0)" != "disallow" } ?? false
  }
}

extension HTTPClientResponse.Body {
  /// Reads a rest that is short and comes soon, so that the connection can be used again. A server that never ends the
  /// body of a redirect must not hold the call.
  fileprivate func readShortRest() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = try? await collect(upTo: 1 << 16) }
      group.addTask { try? await Task.sleep(for: .seconds(1)) }
      await group.next()
      group.cancelAll()
    }
  }
}

extension DispatchError {
  fileprivate static func followsByItself(_ endPoint: EndPoint) -> DispatchError {
    DispatchError(
      .unsupported, endPoint: endPoint,
      detail:
        "the client follows redirects by itself, without permits: set its `redirectConfiguration` to `.disallow`, "
        + "and they are followed with a permit for each")
  }
}

extension Error {
  /// Whether no connection could be made.
  fileprivate var isFailureToConnect: Bool {
    switch self {
    case is NIOConnectionError: true
    // For an address, and for a socket of this machine.
    case let error as IOError: [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENOENT].contains(error.errnoCode)
    case let error as ChannelError: if case .connectTimeout = error { true } else { false }
    case let error as HTTPClientError: error == .connectTimeout || error == .tlsHandshakeTimeout
    default: false
    }
  }
}
#endif
