/// A challenge in the Digest scheme (RFC 7616, and its predecessors RFC 2617 and RFC 2069), as a value.
struct DigestChallenge: Sendable {
  /// Weaker ones first.
  enum Hash: Int, Sendable { case md5, sha256 }

  /// What the answer covers.
  enum Protection: String, Sendable {
    /// Method and target, in the form of RFC 2069: without a count, so that anybody can send the answer once more.
    case legacy = ""
    /// Method and target.
    case auth
    /// The body too.
    case authInt = "auth-int"
  }

  let hash: Hash
  /// Whether the server keeps a key for the nonce, made with the first client nonce (`-sess`).
  let isSession: Bool
  /// The name of the algorithm, as the answer repeats it. Nil if the server named none.
  let algorithm: String?
  let realm: String
  let nonce: String
  let opaque: String?
  /// The nonce of the last answer has expired; user and password may be right.
  let isStale: Bool
  /// The answer has a digest of the user's name in place of the name.
  let hashesUser: Bool
  /// The server reads names and passwords as UTF-8.
  let isUTF8: Bool

  private let protections: [Protection]

  /// Nil if the offer is of another scheme, is incomplete, names an unknown algorithm, or has values that no honest
  /// server sends.
  init?(_ offer: AuthenticationOffers.Offer) {
    let parameters = offer.parameters
    guard offer.scheme == "digest", let realm = parameters["realm"], let nonce = parameters["nonce"],
      [realm, nonce, parameters["opaque"] ?? ""].allSatisfy(Self.isAcceptable)
    else { return nil }
    switch (parameters["algorithm"] ?? "MD5").lowercased() {
    case "md5": (hash, isSession, algorithm) = (.md5, false, parameters["algorithm"] == nil ? nil : "MD5")
    case "md5-sess": (hash, isSession, algorithm) = (.md5, true, "MD5-sess")
    case "sha-256": (hash, isSession, algorithm) = (.sha256, false, "SHA-256")
    case "sha-256-sess": (hash, isSession, algorithm) = (.sha256, true, "SHA-256-sess")
    default: return nil
    }
    (self.realm, self.nonce, opaque) = (realm, nonce, parameters["opaque"])
    func isTrue(_ name: String) -> Bool { parameters[name]?.lowercased() == "true" }
    (isStale, hashesUser) = (isTrue("stale"), isTrue("userhash"))
    isUTF8 = parameters["charset"]?.lowercased() == "utf-8"
    let words = (parameters["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
    // The key of a session needs a client nonce, which the form of RFC 2069 does not have.
    protections = words.isEmpty && !isSession ? [.legacy] : words.compactMap { Protection(rawValue: String($0)) }
  }

  /// What the answer for a request covers: the body only if the server insists. Nil if it does and the body is not in
  /// memory.
  func protection(of body: RequestBody?) -> Protection? {
    if let lesser = protections.first(where: { $0 != .authInt }) { return lesser }
    return protections.isEmpty || body.map { $0.memory == nil } ?? false ? nil : .authInt
  }

  /// The strongest challenge that can be answered for a request with this body; of several the server's first.
  static func strongest(of offers: AuthenticationOffers, for body: RequestBody?) -> DigestChallenge? {
    offers.all.compactMap { DigestChallenge($0) }.filter { $0.protection(of: body) != nil }
      .max { $0.hash.rawValue < $1.hash.rawValue }
  }

  // Values are repeated in each request, so they are bounded. A control character is refused, not escaped: no field can
  // carry one.
  private static func isAcceptable(_ value: String) -> Bool {
    value.utf8.count <= 1024 && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}
