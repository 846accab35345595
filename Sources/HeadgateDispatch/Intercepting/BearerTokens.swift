import HTTPTypes
import HeadgateThreads

/// Gives requests a bearer token, and fetches a new one when a server refuses it: once for all who wait.
///
///     let tokens = BearerTokens(for: try EndPoint("https://api.example.com")) { fetch in
///       let response = try await fetch.send(DispatchRequest("https://login.example.com/token", method: .post))
///       return BearerToken(response.text, validFor: .seconds(3600))
///     }
///     let dispatcher = try URLDispatcher(interceptors: [tokens])
///
/// **Whose requests.** Those to the end-points that it is for, wherever a redirect leads: no other server gets to see the
/// token. It goes over TLS only, or to this machine: a request to such an end-point over plain http goes without,
/// unless the tokens were made for that. Requests with an `Authorization` of their own keep that, and go without.
///
/// **When one is fetched.** Before the first request; once its lifetime is over, a little sooner (`leeway`); and when a
/// server answers with 401. Those that get a 401 at the same time wait for one fetch, and so do those that come meanwhile or
/// have their turn in the queue; one whose token was replaced since it was sent is sent again without a fetch. A request that gets another 401 after a
/// fetch has that for its response, and so has one whose body can't be sent again.
///
/// **When fetching fails.** All who wait end with the error `interceptorFailed`, beneath which is what the closure threw. The
/// next request tries again. If it returns nil there is no token: requests go without one, and a 401 is their response.
///
/// **When somebody gives up.** A request that is cancelled, or out of time, leaves the fetch to the others. Once nobody
/// waits, the fetch is cancelled.
///
/// One object may serve several dispatchers, which share its token. All calls are safe from any thread.
public final class BearerTokens: RequestInterceptor {
  private typealias Waiter = CheckedContinuation<BearerToken?, any Error>

  private let isMeant: @Sendable (DispatchRequest) -> Bool
  private let fetch: @Sendable (TokenFetch) async throws -> BearerToken?
  private let state: Locked<TokenState<Waiter>>

  /// Tokens for some end-points.
  ///
  /// - Parameters:
  ///   - endPoints: Whose requests get the token: host and port, so that of a server's two ports for http and https the one
  ///     that is not named gets none.
  ///   - overPlainHTTP: Whether requests over plain http get it too, which everybody on the way can read. Those to
  ///     `localhost`, to loopback addresses (127.0.0.0/8, `::1`) and to Unix-domain sockets get it in any case.
  ///   - token: The first token, from where the last run of the program kept it; nil: it is fetched.
  ///   - leeway: How long before the end of its lifetime a token is replaced; at most half of its lifetime counts.
  ///   - fetch: Fetches a token, in a task of its own, one call at a time. Returns nil where there is none to be had.
  public convenience init(
    for endPoints: EndPoint..., overPlainHTTP: Bool = false, token: BearerToken? = nil, leeway: Duration = .seconds(10),
    fetch: @escaping @Sendable (TokenFetch) async throws -> BearerToken?
  ) {
    let endPoints = Set(endPoints)
    self.init(
      where: { endPoints.contains($0.endPoint) && (overPlainHTTP || $0.isSecure || $0.endPoint.isThisMachine) },
      token: token, leeway: leeway, fetch: fetch)
  }

  /// Tokens for some requests.
  ///
  /// - Parameters:
  ///   - isMeant: Whether a request gets the token. Called for each request before it is sent, after redirects too; it must
  ///     return at once. Have it look at ``DispatchRequest/isSecure`` too, or the token may be sent in the clear.
  ///   - token: The first token, from where the last run of the program kept it; nil: it is fetched.
  ///   - leeway: How long before the end of its lifetime a token is replaced; at most half of its lifetime counts.
  ///   - fetch: Fetches a token, in a task of its own, one call at a time. Returns nil where there is none to be had.
  public init(
    where isMeant: @escaping @Sendable (DispatchRequest) -> Bool, token: BearerToken? = nil,
    leeway: Duration = .seconds(10), fetch: @escaping @Sendable (TokenFetch) async throws -> BearerToken?
  ) {
    self.isMeant = isMeant
    self.fetch = fetch
    state = Locked(TokenState(token, leeway: leeway))
  }

  /// The present token; nil before the first, and where there is none. May have expired.
  public var token: BearerToken? { state.withLock { $0.token } }

  /// Puts another token in the place of the present one: after somebody has signed in, or, with nil, has signed out: then
  /// the next request fetches one.
  ///
  /// What a fetch under way brings is not kept. With a token it is cancelled, and those who wait for it have that token;
  /// requests that wait for their permit get it as well before they are sent.
  public func setToken(_ token: BearerToken?) {
    let (waiters, fetch) = state.withLock { $0.set(token) }
    fetch?.cancel()
    for waiter in waiters { waiter.resume(returning: token) }
  }

  /// How many requests wait for a token.
  var waiting: Int { state.withLock { $0.waiting } }

  // MARK: Requests

  /// Gives a request the token, fetching one if need be.
  public func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    guard isMeant(request), request.headerFields[.authorization] == nil,
      !FetchingTask.fetches.contains(ObjectIdentifier(self))
    else { return }
    guard let token = try await token(refused: nil, interception) else { return }
    request.headerFields[.authorization] = Self.field(token.value)
  }

  /// Whether a request stands with a token that is not used any more.
  public func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool {
    guard let carried = carried(by: request, interception) else { return false }
    let now = interception.now
    return state.withLock { $0.usable(refused: nil, at: now)?.value } != carried
  }

  /// Whether a server has refused a token that may be replaced.
  public func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
    guard response.statusCode == 401, let refused = carried(by: response.request, interception) else { return false }
    return interception.resends == 0 || hasOther(than: refused, interception)
  }

  /// Has a request whose token was refused sent again once there is another.
  public func review(
    _ response: InterceptedResponse, _ interception: Interception
  ) async throws -> InterceptorAnswer {
    guard let refused = carried(by: response.request, interception) else { return .letBe }
    guard interception.resends == 0 || hasOther(than: refused, interception) else { return .letBe }
    return try await token(refused: refused, interception) == nil ? .letBe : .sendAgain
  }

  private static let scheme = "Bearer "

  private static func field(_ token: String) -> String { scheme + token }

  /// The token that a request has from here.
  private func carried(by request: DispatchRequest, _ interception: Interception) -> String? {
    guard interception.unprepared.headerFields[.authorization] == nil, isMeant(request),
      let field = request.headerFields[.authorization], field.hasPrefix(Self.scheme)
    else { return nil }
    return String(field.dropFirst(Self.scheme.count))
  }

  private func hasOther(than refused: String, _ interception: Interception) -> Bool {
    let now = interception.now
    return state.withLock { $0.usable(refused: refused, at: now) } != nil
  }

  // MARK: Fetching

  private func token(refused: String?, _ interception: Interception) async throws -> BearerToken? {
    let now = interception.now
    if let token = state.withLock({ $0.usable(refused: refused, at: now) }) { return token }
    let canceller = Canceller()
    return try await withTaskCancellationHandler {
      try await withThrowingContinuation { waiter in
        let fetch = Canceller()
        switch state.withLock({ $0.want(waiter, refused: refused, fetch, at: now) }) {
        case .token(let token): waiter.resume(returning: token)
        case .waits(let number, let begins):
          // A cancel that came before finds the waiter now.
          canceller.set { [self] in giveUp(number) }
          if let begins { begin(begins, interception, fetch) }
        }
      }
    } onCancel: {
      canceller.cancel()
    }
  }

  private func giveUp(_ number: Int) {
    let (waiter, fetch) = state.withLock { $0.gaveUp(number) }
    fetch?.cancel()
    waiter?.resume(throwing: CancellationError())
  }

  private func begin(_ begun: TokenState<Waiter>.Fetch, _ interception: Interception, _ canceller: Canceller) {
    let task = Task { [self, fetch] in
      let result: Result<BearerToken?, any Error>
      do {
        let token = try await FetchingTask.$fetches.withValue(FetchingTask.fetches + [ObjectIdentifier(self)]) {
          try await fetch(TokenFetch(begun.old, interception))
        }
        result = .success(token)
      } catch {
        result = .failure(error)
      }
      let waiters = state.withLock { $0.fetched(begun.id, result) }
      for waiter in waiters { waiter.resume(with: result) }
    }
    canceller.set { task.cancel() }
  }
}

/// Of which tokens a fetch is under way in the present task: requests that are submitted in it do not wait for that fetch, nor
/// do they when they are prepared again.
enum FetchingTask {
  @TaskLocal static var fetches: [ObjectIdentifier] = []
}
