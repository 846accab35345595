import CCurl
import HeadgateTesting
import Testing

@testable import HeadgateCurl

/// The URL of a handle, set repeatedly.
@Suite struct CurlURLTests {
  private func text(_ handle: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, CURLUPART_URL, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  @Test("after any other URL, the next one equals libcurl's own parsing of it")
  func sequences() throws {
    let origins = [
      "http://a.example", "http://a.example:8080", "https://a.example", "http://a.example:80", "http://[::1]:81",
      "http://a.example.com", "http://127.0.0.1",
    ]
    let paths = [
      "/", "/a", "/a/b", "/a/", "/a%2Fb", "/A%2fb", "/.", "/a/../b", "/a/.b", "//a", "/a.b", "/a;b=c", "/a:b@c", "",
      "/a/./b", "/..",
    ]
    let queries = ["", "", "?", "?a=b", "?a=%2F&b", "?a/./b", "?a?b", "?a=b/../c"]
    var random = SeededRandom(seed: 20_261_122)
    guard var url = CurlURL() else { return #expect(Bool(false), "no memory") }
    for _ in 0..<20_000 {
      let next = try #require(origins.randomElement(using: &random)) + (paths.randomElement(using: &random) ?? "")
      let whole = next + (queries.randomElement(using: &random) ?? "")
      let alone = try #require(curl_url())
      defer { curl_url_cleanup(alone) }
      let isReadable = curl_url_set(alone, CURLUPART_URL, whole, 0) == CURLUE_OK
      // Outside the macro, which would copy.
      let isSet = url.set(whole)
      #expect(isSet == isReadable)
      if isReadable, text(url.handle) != text(alone) { Issue.record("\(whole) became \(text(url.handle) ?? "")") }
    }
  }

  @Test("a URL that libcurl can't read is refused, without an effect on the next one")
  func unreadable() {
    guard var url = CurlURL() else { return #expect(Bool(false), "no memory") }
    for _ in 0..<2 {
      let areSet = [
        url.set("http://a.example/b?c"), url.set("http://a.example:99999/d"), url.set("http://a.example/d"),
      ]
      #expect(areSet == [true, false, true])
      #expect(text(url.handle) == "http://a.example/d")
    }
  }
}
