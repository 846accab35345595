import Foundation
import HeadgateDispatch
import Testing

/// Section H of the cases: which texts name the same end-point.
@Suite struct EndPointTests {
  private func code(_ body: () throws(EndPointError) -> EndPoint) -> EndPointError.Code? {
    do {
      _ = try body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test(
    "D66 case, the default port and a trailing dot do not change the end-point",
    arguments: [
      "HTTP://Example.COM", "http://example.com:80/", "http://example.com.", "http://example.com:/",
      "http://EXAMPLE.com.:80/a/b?c#d", "http://example.com:00080/",
    ]
  )
  func oneSpelling(url: String) throws {
    let endPoint = try EndPoint(url)
    #expect(endPoint == (try EndPoint(host: "example.com", port: 80)))
    #expect(endPoint.description == "example.com:80")
  }

  @Test("D66 only one trailing dot is dropped, and a dot alone is no host", arguments: ["example.com..", ".", ".."])
  func dots(host: String) {
    #expect(code { () throws(EndPointError) in try EndPoint(host: host, port: 80) } != nil)
  }

  @Test(
    "D67 http and ws stand for port 80, https and wss for 443",
    arguments: [
      ("http://h/", 80), ("ws://h/", 80), ("https://h/", 443), ("wss://h/", 443), ("WSS://h/", 443),
      ("HTTPS://h/", 443),
      ("https://h:80/", 80), ("ftp://h:21/", 21),
    ]
  )
  func defaultPorts(url: String, port: Int) throws {
    #expect(try EndPoint(url).port == port)
  }

  @Test(
    "D67 a scheme without a default port is an error, not port 80",
    arguments: ["ftp://h/", "httpx://h/", "h2://h/"]
  )
  func unknownScheme(url: String) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(url) }
    #expect(error?.code == .unknownScheme)
    #expect(error?.description.contains(url) == true)
  }

  @Test("D68 the port distinguishes end-points of one host")
  func ports() throws {
    #expect(try EndPoint("http://h:8080/") != EndPoint("http://h:80/"))
    #expect(try EndPoint("http://h/") != EndPoint("https://h/"))
    #expect(try EndPoint("https://h/") == EndPoint("http://h:443/"))
    #expect(Set([try EndPoint("http://h:8080/"), try EndPoint("http://h:80/")]).count == 2)
  }

  @Test(
    "D69 the examples of RFC 5952 section 4",
    arguments: [
      // 4.1 leading zeros
      ("2001:0db8::0001", "2001:db8::1"),
      // 4.2.1 shorten as much as possible
      ("2001:db8:0:0:0:0:2:1", "2001:db8::2:1"), ("2001:db8::0:1", "2001:db8::1"),
      // 4.2.2 not a single zero field
      ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      // 4.2.3 the longest run, or else the first
      ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
      // 4.3 lower case
      ("2001:DB8:AAAA::ABCD", "2001:db8:aaaa::abcd"),
    ]
  )
  func canonicalIPv6(written: String, canonical: String) throws {
    #expect(try EndPoint(host: written, port: 80).host == canonical)
    #expect(try EndPoint(host: "[\(written)]", port: 80).host == canonical)
    #expect(try EndPoint("http://[\(written)]/").host == canonical)
    #expect(try EndPoint("http://[\(canonical)]/") == EndPoint("http://[\(written)]/"))
  }

  @Test(
    "D69 the spellings of one address in RFC 5952 section 2",
    arguments: [
      "2001:db8:0:0:1:0:0:1", "2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "2001:db8::0:1:0:0:1",
      "2001:0db8::1:0:0:1", "2001:db8:0:0:1::1", "2001:db8:0000:0:1::1", "2001:DB8:0:0:1::1",
    ]
  )
  func spellings(written: String) throws {
    #expect(try EndPoint("http://[\(written)]/").host == "2001:db8::1:0:0:1")
  }

  @Test("D69 loopback, mapped and unspecified addresses have one form, and host and port stay separate")
  func specialAddresses() throws {
    #expect(try EndPoint("http://[::1]") == EndPoint("http://[0:0:0:0:0:0:0:1]:80/"))
    #expect(try EndPoint("http://[::ffff:127.0.0.1]") == EndPoint("http://[::FFFF:7F00:1]"))
    #expect(try EndPoint(host: "::ffff:7f00:1", port: 80).host == "127.0.0.1")
    #expect(try EndPoint(host: "0::0", port: 80).host == "::")
    #expect(try EndPoint(host: "::1", port: 80).description == "[::1]:80")
    #expect(try EndPoint("http://[2001:db8::1:80]/").description == "[2001:db8::1:80]:80")
    #expect(try EndPoint(host: "::1", port: 80).isIPv6)
    #expect(try EndPoint(host: "127.0.0.1", port: 80).isIPv6 == false)
    // Names are not resolved.
    #expect(try EndPoint("http://localhost/") != EndPoint("http://127.0.0.1/"))
    // A connection to a mapped address goes to the IPv4 address.
    for mapped in ["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:FFFF:127.0.0.1"] {
      #expect(try EndPoint("http://[\(mapped)]/") == EndPoint("http://127.0.0.1/"))
      #expect(try DispatchRequest("http://[\(mapped)]/p").url == "http://127.0.0.1/p")
    }
    #expect(try EndPoint("http://[::127.0.0.1]/") != EndPoint("http://127.0.0.1/"))
  }

  @Test(
    "D69 a text in brackets or with a colon that is not an IPv6 address is refused",
    arguments: [
      "[example.com]", "[127.0.0.1]", "[v1.x]", "[::1", "::1]", "[]", "::g", "1::2::3", ":::", "1:2:3:4:5:6:7:8:9",
      "12345::", "::1.2.3", ":", "::1\0.evil", "::1 ",
    ]
  )
  func brokenIPv6(host: String) {
    #expect(code { () throws(EndPointError) in try EndPoint(host: host, port: 80) } == .invalidHost)
    #expect(throws: EndPointError.self) { try EndPoint("http://\(host)/") }
  }

  @Test("D69 a port in the place of a host is refused, not cut off")
  func portInHost() {
    #expect(code { () throws(EndPointError) in try EndPoint(host: "h:80", port: 80) } == .invalidHost)
    #expect(code { () throws(EndPointError) in try EndPoint(host: "[::1]:80", port: 80) } == .invalidHost)
  }

  @Test("D70 user information is ignored", arguments: ["u@", "u:p@", "@", ":@", "u%40v:p%3A@", "other.example:81@"])
  func userInformation(part: String) throws {
    #expect(try EndPoint("http://\(part)example.com/") == EndPoint("http://example.com/"))
  }

  @Test(
    "D70 an empty host is refused",
    arguments: ["http://", "http:///p", "http://:80/", "http://u@/", "http:h", "http:"]
  )
  func emptyHost(url: String) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(url) }
    #expect(error?.code == .missingHost || error?.code == .malformed)
    #expect(error?.description.contains("scheme://host/path") == true)
  }

  @Test("D70 an empty host without a URL is refused too", arguments: ["", "."])
  func emptyHostAlone(host: String) {
    #expect(code { () throws(EndPointError) in try EndPoint(host: host, port: 80) } == .missingHost)
  }

  @Test(
    "D70 a name in another script is the same end-point as its xn-- form",
    arguments: [
      ("b\u{FC}cher.example", "xn--bcher-kva.example"), ("B\u{DC}CHER.Example", "xn--bcher-kva.example"),
      ("b%C3%BCcher.example", "xn--bcher-kva.example"), ("\u{4F8B}\u{3048}.jp", "xn--r8jz45g.jp"),
      ("\u{4F8B}\u{3048}\u{3002}jp", "xn--r8jz45g.jp"), ("stra\u{DF}e.example", "xn--strae-oqa.example"),
      ("\u{FF45}xample.com", "example.com"),
      // From RFC 3492 section 7.1, without characters that are not letters.
      (
        "\u{644}\u{64A}\u{647}\u{645}\u{627}\u{628}\u{62A}\u{643}\u{644}\u{645}\u{648}\u{634}\u{639}\u{631}\u{628}\u{64A}.x",
        "xn--mgbcah9ar9a4efegftvvn.x"
      ),
      (
        "\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}.x",
        "xn--ihqwcrb4cv8a8dqg056pqjye.x"
      ),
      ("s\u{FC}d-ost.x", "xn--sd-ost-3ya.x"),
      ("pro\u{10D}prost\u{11B}nemluv\u{ED}\u{10D}esky.x", "xn--proprostnemluvesky-uyb24dma41a.x"),
      ("3\u{5E74}b\u{7D44}\u{91D1}\u{516B}\u{5148}\u{751F}.x", "xn--3b-ww4c5e180e575a65lsy2b.x"),
      (
        "\u{909}\u{926}\u{93E}\u{939}\u{930}\u{923}.\u{92A}\u{930}\u{940}\u{915}\u{94D}\u{937}\u{93E}",
        "xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g"
      ),
    ]
  )
  func internationalNames(name: String, ascii: String) throws {
    #expect(try EndPoint("http://\(name)/").host == ascii)
    #expect(try EndPoint("http://\(name)/") == EndPoint("http://\(ascii)/"))
    #expect(try DispatchRequest("http://\(name)/p").url == "http://\(ascii)/p")
  }

  @Test(
    "D70 an ambiguous name is refused with advice on what to write",
    arguments: [
      "bu\u{308}cher.example", "\u{1F600}.example", "\u{FB01}x.example", "a\u{200D}b.example", "-\u{FC}.example",
      "\u{FC}-.example",
      "\u{1112}\u{1161}.example", "\u{130}.example",
      String(repeating: "\u{FC}", count: 60) + ".example",
    ]
  )
  func unclearNames(name: String) throws {
    let error = #expect(throws: EndPointError.self) { try EndPoint(host: name, port: 80) }
    #expect(error?.code == .unclearName)
    #expect(error?.description.contains("xn--") == true)
  }

  @Test("D70 a percent-encoded host is decoded")
  func percentEncodedHost() throws {
    #expect(try EndPoint("http://ex%61mple.com/") == EndPoint("http://example.com/"))
    #expect(try EndPoint("http://%31%32%37.1/") == EndPoint("http://127.0.0.1/"))
  }

  @Test(
    "Hosts with bytes that are not allowed in names are refused",
    arguments: ["a b", "a/b", "a%2Fb", "a@b", "a?b", "a#b", "a\\b", "a\0b", "a..b", ".a", "a,b", "a\n"]
  )
  func invalidHosts(host: String) {
    #expect(code { () throws(EndPointError) in try EndPoint(host: host, port: 80) } == .invalidHost)
  }

  @Test("A host may have the maximum length of a name, and no more")
  func longHosts() throws {
    let longest = String(repeating: "a.", count: 126) + "a"
    #expect(try EndPoint(host: longest, port: 80).host == longest)
    #expect(try EndPoint(host: longest + ".", port: 80).host == longest)
    #expect(code { () throws(EndPointError) in try EndPoint(host: "a" + longest, port: 80) } == .invalidHost)
  }

  @Test(
    "IPv4 addresses in unusual spellings get their dotted form",
    arguments: [
      ("127.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("0X7F000001", "127.0.0.1"), ("2130706433", "127.0.0.1"),
      ("017700000001", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"),
      ("192.168.0.1", "192.168.0.1"), ("0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("1.2.3", "1.2.0.3"),
    ]
  )
  func oddIPv4(written: String, canonical: String) throws {
    #expect(try EndPoint(host: written, port: 80).host == canonical)
    #expect(try EndPoint("http://\(written)/") == EndPoint(host: canonical, port: 80))
  }

  @Test(
    "A host that ends in a number and is not an address is refused: it must not become a name",
    arguments: [
      "256.1.1.1", "1.2.3.4.5", "4294967296", "08.1.1.1", "a.1", "a.0x1", "0x", "1.2.3.0xg1.9", "127.0.0.1_.7",
    ]
  )
  func brokenIPv4(host: String) {
    #expect(code { () throws(EndPointError) in try EndPoint(host: host, port: 80) } == .invalidHost)
  }

  @Test(
    "Names with digits, hyphens and underscores are names",
    arguments: ["1a", "a1.b2c", "_dmarc.x", "a--b", "0x1g", "x.3com"]
  )
  func names(host: String) throws {
    #expect(try EndPoint(host: host, port: 80).host == host)
  }

  @Test("Ports below 1 and above 65535 are refused", arguments: [0, -1, 65536, Int.max, Int.min])
  func portRange(port: Int) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(host: "h", port: port) }
    #expect(error?.code == .invalidPort)
    #expect(error?.description.contains("\(port)") == true)
  }

  @Test(
    "Ports out of range in a URL are refused, and never replaced by the default port",
    arguments: ["0", "65536", "99999", "9223372036854775808", "99999999999999999999", "100000000000000000000080"]
  )
  func urlPortRange(port: String) {
    for url in ["http://h:\(port)/", "https://u:1@h:\(port)", "http://[::1]:\(port)?q", "http://h:\(port)#f:1"] {
      let error = #expect(throws: EndPointError.self) { try EndPoint(url) }
      #expect(error?.code == .invalidPort)
      #expect(error?.description.contains(port) == true)
    }
  }

  @Test("The ends of the range are valid ports")
  func extremePorts() throws {
    #expect(try EndPoint("http://h:1/").port == 1)
    #expect(try EndPoint("http://h:65535/").port == 65535)
    // Digits that are not a port: part of the path, the query, a name or an address.
    #expect(try EndPoint("http://h/a:81").port == 80)
    #expect(try EndPoint("http://h?a:81").port == 80)
    #expect(try EndPoint("http://u:81@h/").port == 80)
    #expect(try EndPoint("http://[::81]/").port == 80)
  }

  @Test(
    "A text that is not an absolute URL is refused",
    arguments: [
      "", "example.com", "/p", "//h/p", "http://h:-1/", "http://h:8x/", "http://h:80:80/", "http://[::1/", " http://h/",
    ]
  )
  func malformed(url: String) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(url) }
    #expect(error?.description.isEmpty == false)
  }

  @Test("A Foundation URL names the same end-point as its text")
  func foundationURL() throws {
    let url = try #require(URL(string: "https://Example.com/a"))
    #expect(try EndPoint(url) == EndPoint(host: "example.com", port: 443))
    let relative = try #require(URL(string: "x", relativeTo: url))
    #expect(try EndPoint(relative) == EndPoint(host: "example.com", port: 443))
  }

  @Test("Equal end-points have equal hashes, even if created separately")
  func hashing() throws {
    var set: Set<EndPoint> = []
    for number in 0..<1000 {
      #expect(set.insert(try EndPoint(host: "h\(number % 100)", port: 1 + number % 10)).inserted == (number < 100))
    }
    #expect(set.count == 100)
    let (left, right) = (try EndPoint("http://A.example./"), try EndPoint(host: "a.example", port: 80))
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect([left: 1][right] == 1)
  }
}
