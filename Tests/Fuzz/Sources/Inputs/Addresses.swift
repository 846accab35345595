import Foundation

@testable import HeadgateDispatch
@testable import HeadgateGate

/// URLs of lists and of redirects: an end-point is read back from its own text, and a redirect leads to http or https.
@Sendable func fuzzAddresses(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  if let endPoint = try? EndPoint(text), !endPoint.description.hasPrefix("unix:") {
    precondition((try? EndPoint("http://\(endPoint)")) == endPoint)
  }
  if let host = try? CanonicalHost.of(text) { precondition((try? CanonicalHost.of(host)) == host) }
  if let request = try? DispatchRequest("https://user:secret@example.com/a/b?c"),
    let next = try? Redirect.next(after: request, status: 302, location: text)
  {
    precondition(next.url.hasPrefix("http"))
  }
  let offers = AuthenticationOffers(text.split(separator: "\n").map(String.init))
  precondition(offers.schemes.allSatisfy { !$0.isEmpty })
  checkDigest(offers)
  for (_, entry) in LearnedLimits(text).entries { precondition(entry.requests > 0) }
}

/// The answer to a challenge has no line end, and contains the values of the challenge as they were read.
private func checkDigest(_ offers: AuthenticationOffers) {
  guard let challenge = DigestChallenge.strongest(of: offers, for: nil),
    let answer = DigestUser(name: "a\"da", password: "x").answer(
      to: challenge, method: "GET", target: "/", body: nil, DigestUse(number: 1, clientNonce: "c"))
  else { return }
  precondition(answer.utf8.count < 16_384 && answer.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
  let read = AuthenticationOffers([answer])
  precondition(read.schemes == ["digest"])
  let parameters = read.all[0].parameters
  precondition(parameters["realm"] == challenge.realm && parameters["nonce"] == challenge.nonce)
  precondition(parameters["opaque"] == challenge.opaque)
}
