import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// Challenges of servers are read whatever their form, and nothing in them traps.
@Suite struct AuthenticationOffersTests {
  private func read(_ fields: String...) -> [String] {
    AuthenticationOffers(fields).all.map { offer in
      let parameters = offer.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return ([offer.scheme] + parameters).joined(separator: "|")
    }
  }

  @Test(
    "the schemes of a field are told from their parameters and tokens",
    arguments: [
      (#"Digest realm="a, b", nonce=n"#, ["digest|nonce=n|realm=a, b"]),
      (
        #"Newauth realm="apps", type=1, title="Log \"in\"", Basic realm="x""#,
        [
          #"newauth|realm=apps|title=Log "in"|type=1"#, "basic|realm=x",
        ]
      ),
      (#"Negotiate YWJj==, Digest  Realm = "a" , NONCE="n""#, ["negotiate|ywjj==", "digest|nonce=n|realm=a"]),
      ("NTLM abc, Basic", ["ntlm", "basic"]),
      (#"Digest qop="auth,auth-int", realm="\\\"""#, [#"digest|qop=auth,auth-int|realm=\""#]),
      ("Digest realm=\"a\"\u{301}, nonce=n", ["digest|nonce=n|realm=a"]),
      (#"Digest realm="a", realm="b", nonce=n"#, ["digest|nonce=n|realm=a"]),
    ] as [(String, [String])])
  func forms(_ field: String, _ offers: [String]) { #expect(read(field) == offers) }

  @Test(
    "of a malformed field the readable part counts",
    arguments: [
      (#"Digest realm="a, nonce=n"#, ["digest|realm=a, nonce=n"]), (#"Digest realm="a\"#, ["digest|realm=a"]),
      (#"Digest realm="a"junk, nonce=n"#, ["digest|nonce=n|realm=a"]), ("Digest realm=", ["digest|realm="]),
      ("Digest =x, nonce=n", []), ("realm=x, Digest", ["digest"]), ("\"", ["\""]), ("", []),
      (" ,\t, ", []),
    ] as [(String, [String])])
  func malformed(_ field: String, _ offers: [String]) { #expect(read(field) == offers) }

  @Test("several fields are one list, but each ends by itself")
  func fields() {
    #expect(read("Basic realm=\"open", "realm=x, Digest nonce=n") == ["basic|realm=open", "digest|nonce=n"])
    let offers = AuthenticationOffers(["Negotiate", "Basic realm=a, Digest realm=b"])
    #expect((offers.schemes, offers.realm) == (["negotiate", "basic", "digest"], "a"))
  }

  @Test("random fields are read without a trap, and an answer repeats the values of its challenge in one line")
  func random() {
    let pieces = [
      "Digest ", "Basic ", "realm=", "nonce=", "opaque=", "qop=", "algorithm=", "\"", "\\", ",", " ", "\t", "=", "a",
      "auth", "auth-int", "MD5", "SHA-256-sess", "stale=true", "userhash=true", "charset=UTF-8", "é", "\u{301}", "\r",
      "\n", "\0", "\u{7f}", #"Digest realm="r", nonce="n", "#,
    ]
    let user = DigestUser(name: "a\"d\\a", password: "secret")
    var answers = 0
    for seed in 0..<UInt64(many / 10) {
      var random = SeededRandom(seed: seed)
      let count = Int.random(in: 0...24, using: &random)
      let field = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      let offers = AuthenticationOffers([field])
      guard let challenge = DigestChallenge.strongest(of: offers, for: nil),
        let answer = user.answer(
          to: challenge, method: "GET", target: "/", body: nil, DigestUse(number: 1, clientNonce: "c"))
      else { continue }
      answers += 1
      let read = AuthenticationOffers([answer]).all
      let parameters = read.first?.parameters ?? [:]
      #expect(
        read.count == 1 && answer.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
          && parameters["realm"] == challenge.realm && parameters["nonce"] == challenge.nonce
          && parameters["opaque"] == challenge.opaque, "seed \(seed)")
    }
    #expect(answers > many / 1000)
  }
}
