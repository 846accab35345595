import Testing

@testable import HeadgateDispatch

/// What is known of servers, and how often each nonce was used.
@Suite struct DigestSpacesTests {
  private func challenge(_ nonce: String, realm: String = "r") throws -> DigestChallenge {
    let offers = AuthenticationOffers(["Digest realm=\(realm), nonce=\(nonce), qop=auth"])
    return try #require(DigestChallenge.strongest(of: offers, for: nil))
  }

  private func origin(_ url: String) throws -> DigestSpaces.Origin { DigestSpaces.Origin(try DispatchRequest(url)) }

  private func use(_ spaces: inout DigestSpaces, _ origin: DigestSpaces.Origin) -> String? {
    spaces.use(at: origin).map { "\($0.nonce) \($1.number) \($1.clientNonce)" }
  }

  @Test("each use of a nonce counts, at its own server and scheme, also if the server sends the nonce again")
  func counts() throws {
    var spaces = DigestSpaces()
    let (here, there) = (try origin("http://a:1/"), try origin("https://a:1/"))
    #expect(use(&spaces, here) == nil)
    spaces.refused(try challenge("n"), at: here, nonce: nil, clientNonce: "c")
    #expect(use(&spaces, here) == "n 1 c")
    #expect(use(&spaces, here) == "n 2 c")
    #expect(use(&spaces, there) == nil)
    spaces.refused(try challenge("n"), at: here, nonce: "n", clientNonce: "d")
    #expect(use(&spaces, here) == "n 3 c")
    spaces.refused(try challenge("m"), at: here, nonce: "n", clientNonce: "d")
    #expect(use(&spaces, here) == "m 1 d")
  }

  @Test("a late refusal of an earlier nonce, or of none, does not replace a newer challenge of the realm")
  func late() throws {
    var spaces = DigestSpaces()
    let here = try origin("http://a/")
    spaces.refused(try challenge("first"), at: here, nonce: nil, clientNonce: "c")
    spaces.refused(try challenge("other"), at: here, nonce: nil, clientNonce: "c")
    spaces.refused(try challenge("other"), at: here, nonce: "earlier", clientNonce: "c")
    #expect(spaces.challenge(of: here)?.nonce == "first")
    spaces.refused(try challenge("other", realm: "s"), at: here, nonce: nil, clientNonce: "c")
    #expect(spaces.challenge(of: here)?.nonce == "other")
  }

  @Test("only the refused nonce is forgotten")
  func forget() throws {
    var spaces = DigestSpaces()
    let here = try origin("http://a/")
    spaces.refused(try challenge("n"), at: here, nonce: nil, clientNonce: "c")
    spaces.forget("m", at: here)
    #expect(spaces.challenge(of: here) != nil)
    spaces.forget("n", at: here)
    #expect(spaces.challenge(of: here) == nil)
  }

  @Test("the number of known servers is bounded, and the latest is among them")
  func bounded() throws {
    var spaces = DigestSpaces()
    let origins = try (0..<2 * DigestSpaces.most).map { try origin("http://a\($0)/") }
    for origin in origins {
      spaces.refused(try challenge("n"), at: origin, nonce: nil, clientNonce: "c")
      #expect(spaces.challenge(of: origin) != nil)
    }
    #expect(origins.filter { spaces.challenge(of: $0) != nil }.count == DigestSpaces.most)
  }
}
