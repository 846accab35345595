import HTTPTypes
import HeadgateThreads

/// Answers the challenges of servers in the Digest scheme (RFC 7616) with a user and a password.
///
///     let credentials = DigestCredentials(user: "ada", password: password, for: try EndPoint("http://camera.example"))
///     let dispatcher = try URLDispatcher(interceptors: [credentials])
///
/// **Scope.** Only challenges of the given end-points are answered, also after a redirect to one of them; no other
/// server receives an answer. A request with an `Authorization` field of its own keeps that field. The password itself
/// is never sent, so challenges over plain http are answered too. Anyone on the network path can try passwords on such
/// an answer, so prefer https.
///
/// **Answering.** The first request to a server goes without an answer. After the 401 it is sent again: a start of its
/// own for the limits, but no attempt of its ``RetryPolicy``. Later requests to that server, and those that have waited
/// for a permit meanwhile, go with an answer at once. They use the same nonce, and their uses are counted. If a nonce
/// is no longer valid (`stale`), a request is sent once more with the new one. If the server refuses an answer to the
/// challenge that it has just sent, user or password are wrong, and the 401 is the response; the next request goes
/// without an answer. A 401 is also the response if the body can't be sent again.
///
/// **Algorithms.** SHA-256 and MD5, both also as `-sess`. Of several challenges the strongest is answered. The quality
/// of protection is `auth`, or that of RFC 2069 if the server knows none. `auth-int`, which covers the body, is used if
/// the server insists on it and the body is in memory; otherwise the 401 is the response. User and password count as
/// UTF-8, as they are given. The user is sent as a digest if the server asks for that (`userhash`).
///
/// The answer covers the method, the target and possibly the body. Interceptors that change these must come before
/// this one in the dispatcher's list. Challenges of proxies (407) are not answered.
///
/// One object may serve several dispatchers. The latest challenges of 256 servers are kept; a further one replaces any
/// of them, which costs a 401. All methods are thread-safe.
public final class DigestCredentials: RequestInterceptor {
  private let user: DigestUser
  private let isMeant: @Sendable (DispatchRequest) -> Bool
  private let spaces = Locked(DigestSpaces())

  /// Creates an interceptor for requests to some end-points.
  ///
  /// - Parameters:
  ///   - user: The user's name.
  ///   - password: The password. It is kept in memory, and appears in no text.
  ///   - endPoints: The hosts and ports whose challenges are answered. If a server has one port for http and another
  ///     for https, name both to include both.
  public convenience init(user: String, password: String, for endPoints: EndPoint...) {
    let endPoints = Set(endPoints)
    self.init(user: user, password: password) { endPoints.contains($0.endPoint) }
  }

  /// Creates an interceptor for requests chosen by a closure.
  ///
  /// - Parameters:
  ///   - user: The user's name.
  ///   - password: The password. It is kept in memory, and appears in no text.
  ///   - isMeant: Whether the challenge to a request may be answered. Called several times for a request, including
  ///     after redirects, on any thread; must return at once. Check ``DispatchRequest/isSecure`` too if answers must be
  ///     sent over TLS only.
  public init(user: String, password: String, where isMeant: @escaping @Sendable (DispatchRequest) -> Bool) {
    self.user = DigestUser(name: user, password: password)
    self.isMeant = isMeant
  }

  /// Adds the answer to the server's latest challenge, if there has been one.
  public func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    guard request.headerFields[.authorization] == nil, isMeant(request),
      let (challenge, use) = spaces.withLock({ [origin = DigestSpaces.Origin(request)] in $0.use(at: origin) })
    else { return }
    request.headerFields[.authorization] = user.answer(
      to: challenge, method: request.method.rawValue, target: request.target, body: request.body, use)
  }

  /// Whether a request lacks an answer that could be given now, or has one with an earlier nonce.
  public func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool {
    guard let sent = sent(in: request, interception),
      let latest = spaces.withLock({ $0.challenge(of: .init(request)) }), latest.protection(of: request.body) != nil
    else { return false }
    return sent.nonce == nil || sent.realm == latest.realm && sent.nonce != latest.nonce
  }

  /// Whether a server has sent a challenge that can be answered, and has not refused the answer yet.
  public func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
    guard response.statusCode == 401, let head = response.head, let sent = sent(in: response.request, interception),
      let challenge = DigestChallenge.strongest(
        of: AuthenticationOffers(head.headerFields[values: .wwwAuthenticate]), for: response.request.body)
    else { return false }
    let origin = DigestSpaces.Origin(response.request)
    // An answer given in advance may have been to another realm, or with a nonce from before the server's restart.
    let isPlausible =
      interception.resends == 0 || interception.resends == 1 && (challenge.isStale || sent.realm != challenge.realm)
    if let nonce = sent.nonce, !isPlausible {
      spaces.withLock { $0.forget(nonce, at: origin) }
      return false
    }
    // The permit of this request goes to the next one before the review begins. That one is sent with the answer.
    spaces.withLock { $0.refused(challenge, at: origin, nonce: sent.nonce, clientNonce: Self.randomNonce()) }
    return true
  }

  /// Sends a request again with the answer to the challenge.
  public func review(_ response: InterceptedResponse, _ interception: Interception) async throws -> InterceptorAnswer {
    response.statusCode == 401 ? .resend : .deliver
  }

  /// What this object has added to a request: nothing yet, or an answer. Nil if the request is not meant, or has
  /// credentials of another kind.
  private func sent(in request: DispatchRequest, _ interception: Interception) -> (realm: String?, nonce: String?)? {
    guard interception.unprepared.headerFields[.authorization] == nil, isMeant(request) else { return nil }
    guard let field = request.headerFields[.authorization] else { return (nil, nil) }
    guard let answer = AuthenticationOffers([field]).all.first, answer.scheme == "digest",
      let nonce = answer.parameters["nonce"]
    else { return nil }
    return (answer.parameters["realm"], nonce)
  }

  private static func randomNonce() -> String {
    String(UInt64.random(in: 0 ... .max), radix: 16) + String(UInt64.random(in: 0 ... .max), radix: 16)
  }
}

extension DispatchRequest {
  /// Path and query, as the server gets them.
  fileprivate var target: String {
    let authority = Substring(wireURL).utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
    return String(Substring(authority.drop { $0 != UInt8(ascii: "/") }))
  }
}
