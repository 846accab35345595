import HeadgateCurl
import Testing

@Suite struct CurlDescriptionTests {
  @Test("a choice prints its name, and a proxy without its password")
  func names() throws {
    let proxy = try CurlProxy("http://anna:secret@proxy:8080")
    #expect("\(CurlTLSVersion.tls12) \(CurlTLSVersion.tls13)" == "tls12 tls13")
    #expect("\(CurlHTTPVersion.best) \(CurlHTTPVersion.http1)" == "best http1")
    #expect("\(CurlTrust.system) \(CurlTrust.insecure)" == "system insecure")
    #expect("\(CurlTrust.authority(file: "ca.pem"))" == "authority(file: ca.pem)")
    #expect("\(CurlTrust.authorities(folder: "certs"))" == "authorities(folder: certs)")
    #expect("\(CurlProxyRule.none) \(CurlProxyRule.environment)" == "none environment")
    #expect("\(CurlProxyRule.environment(except: "a"))" == "environment(except: a)")
    #expect("\(CurlProxyRule.through(proxy))" == "through(http://proxy:8080)")
    #expect("\(CurlProxyRule.through(proxy, except: "a"))" == "through(http://proxy:8080, except: a)")
  }

  @Test("a client's certificate shows its file, and its password in no dump")
  func secrets() {
    let certificate = CurlClientCertificate(file: "me.pem", password: "secret")
    var dumped = ""
    dump(certificate, to: &dumped)
    #expect("\(certificate)" == "me.pem")
    #expect(dumped.contains("me.pem") && !dumped.contains("secret"))
  }
}
