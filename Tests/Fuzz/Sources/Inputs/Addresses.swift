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
  for (_, entry) in LearnedLimits(text).entries { precondition(entry.requests > 0) }
}
