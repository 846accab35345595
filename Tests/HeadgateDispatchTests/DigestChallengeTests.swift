import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which challenge is answered, and the answer.
@Suite struct DigestChallengeTests {
  private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
  private static let standard = #"Digest realm="http-auth@example.org", nonce="\#(nonce)", qop="#
  private let mufasa = DigestUser(name: "Mufasa", password: "Circle of Life")

  private func challenge(_ fields: String..., body: RequestBody? = nil) -> DigestChallenge? {
    DigestChallenge.strongest(of: AuthenticationOffers(fields), for: body)
  }

  private func answer(
    _ user: DigestUser, to field: String, method: String = "GET", target: String = "/dir/index.html",
    body: RequestBody? = nil, nonce: String = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", number: UInt32 = 1
  ) throws -> [String: String] {
    let chosen = try #require(challenge(field, body: body))
    let sent = user.answer(
      to: chosen, method: method, target: target, body: body, DigestUse(number: number, clientNonce: nonce))
    let text = try #require(sent)
    return try #require(AuthenticationOffers([text]).all.first).parameters
  }

  // MARK: MD5

  @Test(
    "MD5 of the standard's examples",
    arguments: [
      ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
      ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
      ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
      (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    ])
  func md5(_ text: String, _ digest: String) {
    #expect(MD5.sum(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digest)
  }

  // MARK: Answers

  @Test(
    "the examples of RFC 7616, and the same as a session and with the body",
    arguments: [
      ("auth, auth-int", "MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("auth, auth-int", "SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
      ("auth", "MD5-sess", "e783283f46242139c486a698fec7211d"),
      ("auth", "SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
      ("auth-int", "MD5", "8804a53d3640a40a4f73cea12c5ba451"),
      ("auth-int", "SHA-256", "8bdf6f15638e260831e905028de5450562816d093c9bfc5c13d3a46adcdde940"),
    ])
  func examples(_ qop: String, _ algorithm: String, _ response: String) throws {
    let field = Self.standard + "\"\(qop)\", algorithm=\(algorithm), opaque=\"FQhe/qaU925\""
    let parameters = try answer(mufasa, to: field)
    #expect(parameters["response"] == response)
    #expect((parameters["username"], parameters["realm"]) == ("Mufasa", "http-auth@example.org"))
    #expect((parameters["nonce"], parameters["nc"], parameters["opaque"]) == (Self.nonce, "00000001", "FQhe/qaU925"))
    #expect((parameters["uri"], parameters["algorithm"]) == ("/dir/index.html", algorithm))
    #expect(parameters["qop"] == String(qop.prefix { $0 != "," }))
    #expect(try answer(mufasa, to: field, number: 0xABCDEF)["nc"] == "00abcdef")
  }

  @Test("the example of RFC 2617, whose server names no algorithm")
  func earlier() throws {
    let field = #"""
      Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \#
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """#
    let parameters = try answer(DigestUser(name: "Mufasa", password: "Circle Of Life"), to: field, nonce: "0a4f113b")
    #expect(parameters["response"] == "6629fae49393a05397450978507c4ef1")
    #expect(parameters["algorithm"] == nil)
  }

  @Test("the corrected example of RFC 2069: no quality of protection, and no count")
  func earliest() throws {
    let field = #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
    let parameters = try answer(DigestUser(name: "Mufasa", password: "CircleOfLife"), to: field)
    #expect(parameters["response"] == "1949323746fe6a43ef61f9606e7febea")
    #expect((parameters["qop"], parameters["nc"], parameters["cnonce"]) == (nil, nil, nil))
  }

  @Test("a body in memory is covered if the server insists; any other body leaves the challenge unanswered")
  func bodies() throws {
    let insists = Self.standard + "auth-int, algorithm=MD5"
    for body in [RequestBody("body"), RequestBody(Data("body".utf8))] {
      let parameters = try answer(mufasa, to: insists, method: "POST", body: body)
      #expect(parameters["response"] == "a1abf5c7fa9ae74478eb9ffa265bf546")
    }
    #expect(challenge(insists, body: RequestBody(file: "/dev/null")) == nil)
    #expect(challenge(Self.standard + "auth", body: RequestBody(file: "/dev/null")) != nil)
  }

  @Test("a user's digest replaces the name, which is encoded for a server that knows UTF-8, and quoted otherwise")
  func names() throws {
    let field = #"Digest realm="api@example.org", nonce=n, qop=auth, algorithm=SHA-256"#
    let doe = DigestUser(name: "Jäsøn Doe", password: "Secret, or not?")
    func sent(_ more: String) throws -> [String: String] {
      try answer(doe, to: field + more, target: "/doe.json", nonce: "c")
    }
    let hashed = try sent(", userhash=true, charset=UTF-8")
    #expect(hashed["username"] == "5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7")
    #expect(hashed["userhash"] == "true")
    #expect(hashed["response"] == "88b474a94539022f3d252e339dd723eed819edef92d20c67b54aa593902a37c0")
    let encoded = try sent(", charset=utf-8")
    #expect((encoded["username"], encoded["username*"]) == (nil, "UTF-8''J%C3%A4s%C3%B8n%20Doe"))
    #expect((encoded["userhash"], encoded["response"]) == (nil, hashed["response"]))
    #expect(try sent("")["username"] == "Jäsøn Doe")
    #expect(try answer(DigestUser(name: "a\r\nX: b", password: ""), to: field)["username*"] == "UTF-8''a%0D%0AX%3A%20b")
    #expect(try answer(DigestUser(name: #"a"\b"#, password: ""), to: field)["username"] == #"a"\b"#)
  }

  // MARK: The choice

  @Test("of several challenges the strongest known one is chosen, and of equal ones the server's first")
  func strongest() {
    let (md5, sha) = ("Digest realm=r, nonce=m, algorithm=MD5", "Digest realm=r, nonce=s, algorithm=SHA-256")
    #expect(challenge(md5, sha)?.nonce == "s")
    #expect(challenge("\(sha), Basic realm=x, \(md5)")?.nonce == "s")
    #expect(challenge("Digest realm=r, nonce=x, algorithm=SHA-512-256", md5)?.nonce == "m")
    #expect(challenge("Digest realm=r, nonce=x, qop=auth, algorithm=sha-256-SESS", sha)?.nonce == "x")
    let whole = Self.standard + "auth-int, algorithm=SHA-256"
    #expect(challenge(whole, md5, body: RequestBody(file: "/dev/null"))?.nonce == "m")
  }

  @Test(
    "what can't be answered is no challenge",
    arguments: [
      "Basic realm=r", "Digest realm=r", "Digest nonce=n", "Digest realm=r, nonce=n, algorithm=token",
      "Digest realm=r, nonce=n, qop=other", "Digest realm=r, nonce=n, algorithm=MD5-sess",
      "Digest realm=\"r\r\nX: y\", nonce=n", "Digest realm=r, nonce=\"\u{7f}\"",
      "Digest realm=r, nonce=n, opaque=\"\0\"",
      "Digest realm=r, nonce=" + String(repeating: "n", count: 1025),
    ])
  func none(_ field: String) { #expect(challenge(field) == nil) }

  @Test("flags are read in any case, and are off by default")
  func flags() throws {
    let on = try #require(challenge("digest REALM=r, nonce=n, Stale=TRUE, userhash=\"True\", charset=\"utf-8\""))
    #expect((on.isStale, on.hashesUser, on.isUTF8) == (true, true, true))
    let off = try #require(challenge("Digest realm=r, nonce=n, stale=false, charset=latin"))
    #expect((off.isStale, off.hashesUser, off.isUTF8) == (false, false, false))
  }

  @Test("no textual representation reveals the password or the user")
  func secret() throws {
    let credentials = DigestCredentials(user: "hunter", password: "hunter2", for: try EndPoint(host: "a", port: 80))
    let user = DigestUser(name: "hunter", password: "hunter2")
    var shown = "\(credentials)" + String(reflecting: credentials) + "\(user)" + String(reflecting: user)
    dump(credentials, to: &shown)
    dump(user, to: &shown)
    #expect(!shown.contains("hunter"))
  }
}
