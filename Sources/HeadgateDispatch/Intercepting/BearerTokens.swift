import HTTPTypes
import HeadgateThreads

/// Adds a bearer token to requests. Fetches a new token when a server refuses the current one, with one fetch for all
/// waiting requests.
///
///     let tokens = BearerTokens(for: try EndPoint("https://api.example.com")) { fetch in
///       let response = try await fetch.send(DispatchRequest("https://login.example.com/token", method: .post))
///       return BearerToken(response.text, validFor: .seconds(3600))
///     }
///     let dispatcher = try URLDispatcher(interceptors: [tokens])
///
/// **Scope.** Only requests to the given end-points get the token, including those that a redirect leads there; no
/// other server receives it. It is sent over TLS or to this machine only: other plain http requests go without the
/// token unless `overPlainHTTP` is set. A request with an `Authorization` field of its own keeps that field.
///
/// **Fetching.** A token is fetched before the first request, shortly before the current one expires (`leeway`), and
/// when a server answers 401. Requests that get a 401 at the same time share one fetch, and so do requests prepared
/// or granted a permit meanwhile. A request whose token has been replaced since it was sent is sent again without a
/// fetch. A second 401, after a fetch, is delivered as the response; so is the first one if the body can't be sent
/// again.
///
/// **Failure.** If the closure throws, all waiting requests fail with `interceptorFailed`, with the thrown error as
/// `underlyingError`. The next request tries again. If it returns nil there is no token: requests are sent without
/// one, and a 401 is their response.
///
/// **Cancelling.** A request that is cancelled or times out leaves the fetch to the others. When no request waits,
/// the fetch is cancelled.
///
/// One object may serve several dispatchers, which share its token. All methods are thread-safe.
public final class BearerTokens: RequestInterceptor {
  private let isMeant: @Sendable (DispatchRequest) -> Bool
  private let fetch: @Sendable (TokenFetch) async throws -> BearerToken?
  private let state: Locked<TokenState>

  /// Creates an interceptor for requests to some end-points.
  ///
  /// - Parameters:
  ///   - endPoints: The hosts and ports whose requests get the token. If a server has one port for http and another
  ///     for https, name both to include both.
  ///   - overPlainHTTP: Whether requests over plain http get the token too, although anyone on the network path
  ///     can read it. Requests to `localhost`, to loopback addresses (127.0.0.0/8, `::1`) and to Unix-domain sockets
  ///     always get it.
  ///   - token: The first token, for example one stored by an earlier run. Nil: it is fetched.
  ///   - leeway: How long before its expiry a token is replaced. Limited to half of the token's lifetime.
  ///   - fetch: Fetches a token. Called in a task of its own, one call at a time. Returns nil if no token is
  ///     available.
  public convenience init(
    for endPoints: EndPoint..., overPlainHTTP: Bool = false, token: BearerToken? = nil, leeway: Duration = .seconds(10),
    fetch: @escaping @Sendable (TokenFetch) async throws -> BearerToken?
  ) {
    let endPoints = Set(endPoints)
    self.init(
      where: { endPoints.contains($0.endPoint) && (overPlainHTTP || $0.isSecure || $0.endPoint.isThisMachine) },
      token: token, leeway: leeway, fetch: fetch)
  }

  /// Creates an interceptor for requests chosen by a closure.
  ///
  /// - Parameters:
  ///   - isMeant: Whether a request gets the token. Called for each request before it is sent, including after
  ///     redirects; must return at once. Check ``DispatchRequest/isSecure`` too, or the token may be sent unencrypted.
  ///   - token: The first token, for example one stored by an earlier run. Nil: it is fetched.
  ///   - leeway: How long before its expiry a token is replaced. Limited to half of the token's lifetime.
  ///   - fetch: Fetches a token. Called in a task of its own, one call at a time. Returns nil if no token is
  ///     available.
  public init(
    where isMeant: @escaping @Sendable (DispatchRequest) -> Bool, token: BearerToken? = nil,
    leeway: Duration = .seconds(10), fetch: @escaping @Sendable (TokenFetch) async throws -> BearerToken?
  ) {
    self.isMeant = isMeant
    self.fetch = fetch
    state = Locked(TokenState(token, leeway: leeway))
  }

  /// The current token. Nil before the first, and if none is available. It may have expired.
  public var token: BearerToken? { state.withLock { $0.token } }

  /// Replaces the token, for example after a sign-in. Nil removes it, as after a sign-out: the next request fetches
  /// one.
  ///
  /// The result of a fetch under way is not stored. A new token also cancels that fetch, and requests waiting for it
  /// get the new token; so do requests that wait for a permit, before they are sent.
  public func setToken(_ token: BearerToken?) {
    guard let outdated = state.withLock({ $0.set(token) }) else { return }
    outdated.cancel()
    outdated.result.set(.success(token))
  }

  /// The number of requests waiting for a token.
  var waiting: Int { state.withLock { $0.waiting } }

  // MARK: Requests

  /// Adds the token to a request. Fetches one if necessary.
  public func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    guard isMeant(request), request.headerFields[.authorization] == nil,
      !FetchingTask.fetches.contains(ObjectIdentifier(self))
    else { return }
    guard let token = try await token(refused: nil, interception) else { return }
    request.headerFields[.authorization] = Self.scheme + token.value
  }

  /// Whether a request carries a token that is no longer in use.
  public func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool {
    guard let carried = carried(by: request, interception) else { return false }
    let now = interception.now
    return state.withLock { $0.usable(refused: nil, at: now)?.value } != carried
  }

  /// Whether a server has refused a token that can be replaced.
  public func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
    guard let refused = refused(by: response, interception) else { return false }
    // The permit of this request goes to the next one before the review begins. That one must not be sent with it.
    state.withLock { $0.refuse(refused) }
    return true
  }

  /// Sends a request with a refused token again once there is another token.
  public func review(
    _ response: InterceptedResponse, _ interception: Interception
  ) async throws -> InterceptorAnswer {
    guard let refused = refused(by: response, interception) else { return .deliver }
    return try await token(refused: refused, interception) == nil ? .deliver : .resend
  }

  private static let scheme = "Bearer "

  /// The token that this object added to a request.
  private func carried(by request: DispatchRequest, _ interception: Interception) -> String? {
    guard interception.unprepared.headerFields[.authorization] == nil, isMeant(request),
      let field = request.headerFields[.authorization], field.hasPrefix(Self.scheme)
    else { return nil }
    return String(field.dropFirst(Self.scheme.count))
  }

  /// The token that a server has refused, if it can be replaced.
  private func refused(by response: InterceptedResponse, _ interception: Interception) -> String? {
    guard response.statusCode == 401, let token = carried(by: response.request, interception) else { return nil }
    let now = interception.now
    let isReplaced = state.withLock { $0.usable(refused: token, at: now) } != nil
    return interception.resends == 0 || isReplaced ? token : nil
  }

  // MARK: Fetching

  private func token(refused: String?, _ interception: Interception) async throws -> BearerToken? {
    let now = interception.now
    switch state.withLock({ $0.want(refused: refused, at: now) }) {
    case .token(let token): return token
    case .fetch(let fetch, let begins):
      if begins { begin(fetch, interception) }
      let waiter = Waiter.ofTask()
      fetch.result.whenSet { _ in waiter.end(.woken) }
      if await waiter.wait(until: .distantFuture) == .cancelled {
        // Without waiters the token is no longer needed.
        if state.withLock({ $0.leave(fetch) }) { fetch.cancel() }
        throw CancellationError()
      }
      return try fetch.result.value?.get()
    }
  }

  private func begin(_ begun: TokenState.Fetch, _ interception: Interception) {
    begun.task.set(
      Task { [self, fetch] in
        let result: Result<BearerToken?, any Error>
        do {
          let token = try await FetchingTask.$fetches.withValue(FetchingTask.fetches + [ObjectIdentifier(self)]) {
            try await fetch(TokenFetch(old: begun.old, interception: interception))
          }
          result = .success(token)
        } catch {
          result = .failure(error)
        }
        if state.withLock({ $0.ended(begun, result) }) { begun.result.set(result) }
      })
  }
}

/// The `BearerTokens` objects whose fetch runs in the current task. Requests submitted by that task do not wait for
/// the fetch, which would be a deadlock. This also applies when they are prepared again.
enum FetchingTask {
  @TaskLocal static var fetches: [ObjectIdentifier] = []
}
