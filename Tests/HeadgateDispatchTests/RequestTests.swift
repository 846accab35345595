import Foundation
import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

@Suite struct RequestTests {
  @Test("the fast and the full URL parser agree")
  func plainAddresses() throws {
    var random = SeededRandom(seed: 7)
    let hosts = [
      "h", "a.b", "a-1.b2", "x.3com", "1.2.3.4", "1.2.3.255", "1.2.3.256", "01.2.3.4", "1.2.3", "a.1", "0x7f.1",
      "1.2.3.4.5",
      "a..b", ".a", "a.", "-", "9", "example.com", "xn--a.test", "A.b", "a_b",
    ]
    let ports = ["", ":", ":0", ":80", ":443", ":8080", ":081", ":65535", ":65536", ":99999999999999999999", ":x"]
    let paths = ["", "/", "/a/b", "/a?b=c&d", "/%41", "/a b", "/\u{e9}", "/a;b,c@d!$", "?q", "/a\\b", "/[x]"]
    var short = 0
    for _ in 0..<5_000 {
      let scheme = ["http://", "https://", "HTTP://", "ftp://"].randomElement(using: &random) ?? ""
      let text = [hosts, ports, paths].reduce(scheme) { $0 + ($1.randomElement(using: &random) ?? "") }
      guard let plain = RequestAddress(canonical: text) else { continue }
      short += 1
      // A fragment, which no request carries, requires the full parser.
      let long = try DispatchRequest(text + "#f")
      #expect(long.url == text)
      #expect((long.endPoint, long.isSecure) == (plain.endPoint, plain.isSecure))
      #expect(try CanonicalHost.of(plain.endPoint.host) == plain.endPoint.host)
    }
    #expect(short > 100)
  }

  @Test(
    "The URL is sent with canonical host and port, without user information and fragment",
    arguments: [
      ("HTTP://Example.COM", "http://example.com/"),
      ("https://example.com.:443", "https://example.com/"),
      ("https://example.com:80/a", "https://example.com:80/a"),
      ("http://u:p@example.com:8080/a#f", "http://example.com:8080/a"),
      ("http://example.com:/a", "http://example.com/a"),
      ("http://127.1/", "http://127.0.0.1/"),
      ("http://0x7f000001:81/x?y", "http://127.0.0.1:81/x?y"),
      ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
      ("https://[::1]:8443/", "https://[::1]:8443/"),
      ("http://h?q", "http://h/?q"),
      ("http://h#f", "http://h/"),
      ("http://ex%61mple.com/", "http://example.com/"),
    ]
  )
  func canonicalURL(written: String, sent: String) throws {
    let request = try DispatchRequest(written)
    #expect(request.url == sent)
    #expect(request.isSecure == sent.hasPrefix("https:"))
    #expect(request.endPoint == (try EndPoint(sent)))
    // Canonicalizing twice changes nothing.
    #expect(try DispatchRequest(sent).url == sent)
  }

  @Test(
    "Path, query and percent-encoding stay as given",
    arguments: [
      "http://h/a%2Fb", "http://h/a%2fb%7e~", "http://h/a/../b/./c", "http://h//a//", "http://h/?",
      "http://h/a?b=%20+c&d==e?f/g",
      "http://h/a;p=1,2:3@4!$&'()*+=~_-.", "http://h/?u=http://other:81/x%23y", "http://h/%E4%BE%8B",
      "http://h/?100%25",
    ]
  )
  func keptAsGiven(url: String) throws {
    #expect(try DispatchRequest(url).url == url)
  }

  @Test(
    "Characters that are invalid in a URL are percent-encoded, existing encodings are kept",
    arguments: [
      ("http://h/a b", "http://h/a%20b"),
      ("http://h/a%20b c", "http://h/a%20b%20c"),
      ("http://h/x y?q=%26 &r=%zz%4", "http://h/x%20y?q=%26%20&r=%25zz%254"),
      ("http://h/100%", "http://h/100%25"),
      ("http://h/b\u{FC}cher?\u{4F8B}", "http://h/b%C3%BCcher?%E4%BE%8B"),
      ("http://h/?a[]=1&b%5B%5D=2", "http://h/?a%5B%5D=1&b%5B%5D=2"),
      ("http://[::1]/[x]", "http://[::1]/%5Bx%5D"),
      ("http://h/<\"^`{|}>", "http://h/%3C%22%5E%60%7B%7C%7D%3E"),
      ("http://h/a\\b", "http://h/a%5Cb"),
      ("http://h/a\r\nHost: x", "http://h/a%0D%0AHost:%20x"),
      ("http://h/\u{0}", "http://h/%00"),
    ]
  )
  func encoded(written: String, sent: String) throws {
    #expect(try DispatchRequest(written).url == sent)
  }

  @Test(
    "User information becomes a Basic field",
    arguments: [
      ("http://user:secret@h/", "user:secret"), ("http://user@h/", "user:"), ("http://:secret@h/", ":secret"),
      ("http://u%40v:p%3Aq%20r@h/", "u@v:p:q r"), ("http://\u{FC}:x@h/", "\u{FC}:x"),
    ]
  )
  func basic(url: String, credentials: String) throws {
    let request = try DispatchRequest(url)
    #expect(request.headerFields[.authorization] == "Basic " + Data(credentials.utf8).base64EncodedString())
    #expect(request.url == "http://h/")
  }

  @Test("Empty or missing user information becomes no field", arguments: ["http://h/", "http://@h/", "http://:@h/"])
  func noBasic(url: String) throws {
    #expect(try DispatchRequest(url).headerFields.isEmpty)
  }

  @Test("A given field precedes user information")
  func givenAuthorization() throws {
    let request = try DispatchRequest("http://u:p@h/", headerFields: [.authorization: "Bearer x"])
    #expect(request.headerFields[values: .authorization] == ["Bearer x"])
  }

  @Test(
    "An unusable URL gives an error with a reason",
    arguments: [
      ("", "\"\""), ("example.com/a", "no scheme"), ("/a", "no scheme"), ("//h/a", "no scheme"),
      ("ftp://h/", "scheme ftp"), ("ws://h/", "scheme ws"), ("file:///etc/passwd", "scheme file"),
      ("javascript:alert(1)", "scheme javascript"), ("http://", "no host"), ("http:///a", "no host"),
      ("http:h", "no host"), ("http://h:0/", "port 0"), ("http://h:65536/", "port 65536"),
      ("http://h:99999999999999999999/", "port 99999999999999999999"), ("http://h:8x/", "h:8x"),
      ("http://a..b/", "not a valid host name"), ("http://a b/", "not a valid host name"),
      ("http://256.1.1.1/", "256.1.1.1"),
      ("http://[fe80::1%25en%250]/", "not a valid host name"), ("http://bu\u{308}cher.example/", "xn--"),
      ("http://[::1/", "[::1"),
    ]
  )
  func badURL(url: String, reason: String) {
    let error = #expect(throws: DispatchError.self) { try DispatchRequest(url) }
    #expect(error?.code == .invalidURL)
    #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
    #expect(error?.description.contains("http or https") == true)
  }

  @Test("A Foundation URL gives the same request as its text")
  func foundationURL() throws {
    let base = try #require(URL(string: "https://u:p@Example.com/a/b?c"))
    #expect(try DispatchRequest(base).url == "https://example.com/a/b?c")
    #expect(try DispatchRequest(base).headerFields[.authorization] == "Basic dTpw")
    let relative = try #require(URL(string: "../x y", relativeTo: base))
    #expect(try DispatchRequest(relative).url == "https://example.com/x%20y")
  }

  @Test("Defaults: GET, no body, 60 s to run, 30 s to connect, 64 MiB, 20 redirects, no other limit")
  func defaults() throws {
    let request = try DispatchRequest("http://h/")
    #expect(request.method == .get)
    #expect(request.body == nil)
    #expect(request.timeout == .seconds(60))
    #expect(request.deadline == nil)
    #expect(request.connectTimeout == .seconds(30))
    #expect(request.idleTimeout == nil)
    #expect(request.maxBodyBytes == 64 * 1024 * 1024)
    #expect(request.maxRedirects == 20)
  }

  @Test("A body from text is its UTF-8, and may be sent again by default")
  func body() throws {
    let request = try DispatchRequest("http://h/", method: .post, body: RequestBody("\u{FC}"))
    #expect(request.method == .post)
    #expect(request.body?.bytes == [0xC3, 0xBC])
    #expect(request.body?.canBeSentAgain == true)
    #expect(RequestBody([1], canBeSentAgain: false).canBeSentAgain == false)
  }
}
