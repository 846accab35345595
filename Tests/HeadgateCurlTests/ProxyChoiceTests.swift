import HeadgateDispatch
import Testing

@testable import HeadgateCurl

/// Which request uses which proxy.
@Suite struct ProxyChoiceTests {
  private func choice(_ environment: [String: String]) throws -> ProxyChoice {
    try ProxyChoice(environment: { environment[$0] })
  }

  private func proxy(_ environment: [String: String], _ url: String) throws -> String? {
    try choice(environment).proxy(for: DispatchRequest(url))?.description
  }

  @Test("the environment is read as curl documents: http_proxy in lower case only")
  func environment() throws {
    #expect(try proxy([:], "http://h/") == nil)
    #expect(try proxy(["http_proxy": "p:81"], "http://h/") == "http://p:81")
    #expect(try proxy(["http_proxy": "p:81"], "https://h/") == nil)
    #expect(try proxy(["HTTP_PROXY": "p:81"], "http://h/") == nil)
    #expect(try proxy(["https_proxy": "p:81"], "https://h/") == "http://p:81")
    #expect(try proxy(["HTTPS_PROXY": "p:82"], "https://h/") == "http://p:82")
    #expect(try proxy(["https_proxy": "p:81", "HTTPS_PROXY": "p:82"], "https://h/") == "http://p:81")
    #expect(try proxy(["all_proxy": "socks5h://p"], "http://h/") == "socks5h://p:1080")
    #expect(try proxy(["ALL_PROXY": "https://p"], "https://h/") == "https://p:443")
    #expect(try proxy(["all_proxy": "p:81", "https_proxy": "p:82"], "https://h/") == "http://p:82")
    // An empty variable stands for no proxy, and stops the search.
    #expect(try proxy(["all_proxy": "p:81", "http_proxy": ""], "http://h/") == nil)
    #expect(try proxy(["all_proxy": "p:81"], "http+unix://%2Fx/") == nil)
    #expect(try choice([:]).isEmpty)
  }

  @Test(
    "no_proxy lists hosts, domains, addresses and ranges",
    arguments: [
      ("example.com", "http://example.com/", true), ("example.com", "http://a.b.example.com:81/", true),
      ("example.com", "http://notexample.com/", false), (".example.com", "http://example.com/", true),
      ("Example.com.", "http://a.example.com/", true), ("a.test, b.test c.test", "http://c.test/", true),
      ("*", "http://h/", true), ("*.example.com", "http://a.example.com/", false),
      ("127.0.0.1", "http://127.0.0.1:81/", true), ("127.0.0.1", "http://127.0.0.2/", false),
      ("10.0.0.0/8", "http://10.2.3.4/", true), ("10.0.0.0/8", "http://11.0.0.0/", false),
      ("10.0.0.0/15", "http://10.1.0.9/", true), ("10.0.0.0/15", "http://10.2.0.9/", false),
      ("::1", "http://[::1]/", true), ("[fe80::]/10", "http://[fe80::1%251]/", true),
      ("10.0.0.0/33", "http://10.0.0.0/", false), ("", "http://h/", false), (",", "http://h/", false),
    ])
  func exceptions(list: String, url: String, isDirect: Bool) throws {
    #expect((try proxy(["http_proxy": "p:81", "no_proxy": list], url) == nil) == isDirect)
    let rule = CurlProxyRule.through(try CurlProxy("p:81"), except: list)
    #expect((try ProxyChoice(rule).proxy(for: DispatchRequest(url)) == nil) == isDirect)
  }

  @Test("a proxy's URL: scheme, credentials, IPv6, the default port")
  func urls() throws {
    let proxy = try CurlProxy("HTTP://a%40b:c:d@[::1]:3128/ignored")
    #expect((proxy.user, proxy.password) == ("a@b", "c:d"))
    #expect(proxy.endPoint == (try EndPoint(host: "::1", port: 3128)))
    #expect(proxy.description == "http://[::1]:3128")
    #expect(proxy.maxConnections == 32)
    #expect(try CurlProxy("[::1]").endPoint.port == 1080)
    for url in ["", "ftp://p", "p:x", "p:0", "http://a%zz@p", "http://"] {
      let error = #expect(throws: DispatchError.self) { try CurlProxy(url) }
      #expect(error?.code == .proxyFailed)
    }
    #expect(throws: DispatchError.self) { try CurlProxy("p", maxConnections: 0) }
  }

  @Test("an invalid proxy in the environment is an error that names the variable, and not its password")
  func badEnvironment() {
    let error = #expect(throws: DispatchError.self) {
      try ProxyChoice(environment: { $0 == "https_proxy" ? "ftp://me:secret@p" : nil })
    }
    #expect(error?.description.contains("https_proxy") == true)
    #expect(error?.description.contains("secret") == false)
  }
}
