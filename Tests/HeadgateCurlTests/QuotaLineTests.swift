import HeadgateDispatch
import Testing

@testable import HeadgateCurl

/// The reader of heads looks at the names of fields too, so that no head is searched twice.
@Suite struct QuotaLineTests {
  private func tellsQuotas(_ field: String) -> Bool {
    var head = HeadLines(atMost: 4096)
    for line in ["HTTP/1.1 200 OK\r\n", "\(field): 1\r\n", "\r\n"] {
      Array(line.utf8).withUnsafeBytes { _ = head.takeUnlessKnown($0) }
    }
    return head.tellsQuotas
  }

  @Test("the reader of heads finds the quota fields of all providers, in any case, and no others")
  func names() {
    for name in [
      "RateLimit", "RateLimit-Remaining", "X-RateLimit-Remaining", "X-Rate-Limit-Remaining",
      "x-ratelimit-remaining-tokens", "anthropic-ratelimit-requests-remaining",
      "anthropic-ratelimit-input-tokens-remaining",
    ] {
      #expect(tellsQuotas(name) && tellsQuotas(name.uppercased()) && tellsQuotas(name.lowercased()))
    }
    for name in ["Age", "Anthropic-Request-Id", "Retry-After", "X-Request-Id", "Content-Length", "Limit"] {
      #expect(!tellsQuotas(name))
    }
  }
}
