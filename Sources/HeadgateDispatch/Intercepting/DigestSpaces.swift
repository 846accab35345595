/// The latest challenge of each server, and the uses of its nonce, as a value.
///
/// A server's protection space is its origin: the parameter `domain` is ignored, as is a second realm, whose challenge
/// replaces the first one's. A request of the other realm costs a 401.
struct DigestSpaces {
  struct Origin: Hashable {
    let endPoint: EndPoint
    let isSecure: Bool

    init(_ request: DispatchRequest) { (endPoint, isSecure) = (request.endPoint, request.isSecure) }
  }

  private struct Known {
    var challenge: DigestChallenge
    /// One for the nonce, since the key of a session is made with it.
    let clientNonce: String
    var uses: UInt32 = 0
  }

  /// The largest number of servers that are known. Any one makes room for the next, and costs a 401.
  static let most = 256

  private var known: [Origin: Known] = [:]

  /// The latest challenge.
  func challenge(of origin: Origin) -> DigestChallenge? { known[origin]?.challenge }

  /// The latest challenge, and the use of its nonce for the next request.
  mutating func use(at origin: Origin) -> (DigestChallenge, DigestUse)? {
    guard var entry = known[origin] else { return nil }
    // The number may wrap around. The server then refuses it, and sends a new nonce.
    entry.uses &+= 1
    known[origin] = entry
    return (entry.challenge, DigestUse(number: entry.uses, clientNonce: entry.clientNonce))
  }

  /// A server has refused a request with this challenge.
  ///
  /// - Parameters:
  ///   - nonce: The nonce that the request was sent with. If another request has brought a newer one since, that one
  ///     stays, so that requests sent at the same time share it.
  ///   - clientNonce: For the new nonce.
  mutating func refused(
    _ challenge: DigestChallenge, at origin: Origin, nonce: String?, clientNonce: @autoclosure () -> String
  ) {
    if let last = known[origin]?.challenge, last.realm == challenge.realm {
      if last.nonce != nonce { return }
      // The server has sent the nonce before: its uses go on.
      if last.nonce == challenge.nonce {
        known[origin]?.challenge = challenge
        return
      }
    }
    if known[origin] == nil, known.count >= Self.most, let any = known.keys.first { known[any] = nil }
    known[origin] = Known(challenge: challenge, clientNonce: clientNonce())
  }

  /// User and password were refused: the next request asks again, and does not send them twice.
  mutating func forget(_ nonce: String, at origin: Origin) {
    if known[origin]?.challenge.nonce == nonce { known[origin] = nil }
  }
}
