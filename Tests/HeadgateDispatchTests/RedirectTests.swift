import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

@Suite struct RedirectTests {
  private func request(
    _ url: String = "http://a.example/b/c/d?q",
    method: HTTPRequest.Method = .get,
    body: RequestBody? = nil
  ) throws -> DispatchRequest {
    try DispatchRequest(url, method: method, headerFields: [.accept: "text/html"], body: body)
  }

  private func next(
    _ request: DispatchRequest,
    _ location: String,
    status: Int = 302
  ) throws(DispatchError) -> DispatchRequest {
    try Redirect.next(after: request, status: status, location: location)
  }

  @Test("Five statuses are redirects, the others are not")
  func statuses() {
    #expect((0...999).filter { Redirect.isRedirect($0) } == [301, 302, 303, 307, 308])
  }

  @Test(
    "D71 a server on a socket that redirects to localhost stays on the socket; no other server redirects to a socket")
  func sockets() throws {
    let there = try request("http+unix://%2Frun%2Fx.sock/b/c")
    #expect(try next(there, "d?e").url == "http+unix://%2Frun%2Fx.sock/b/d?e")
    #expect(try next(there, "/").url == "http+unix://%2Frun%2Fx.sock/")
    #expect(try next(there, "http://localhost/z").endPoint == there.endPoint)
    #expect(try next(there, "http://localhost:81/z").url == "http://localhost:81/z")
    #expect(try next(there, "https://localhost/z").url == "https://localhost/z")
    #expect(try next(there, "http+unix://%2Frun%2Fx.sock/z").url == "http+unix://%2Frun%2Fx.sock/z")
    var named = there
    named.headerFields[try #require(HTTPField.Name("Host"))] = "docker"
    #expect(try next(named, "http://docker/z").endPoint == there.endPoint)
    #expect(try next(named, "http://localhost/z").url == "http://localhost/z")
    for (from, to) in [(there, "http+unix://%2Fy/"), (try request(), "http+unix://%2Frun%2Fx.sock/")] {
      let error = #expect(throws: DispatchError.self) { try next(from, to) }
      #expect(error?.code == .badRedirect)
    }
  }

  @Test(
    "The method after a redirect, by status",
    arguments: [
      (301, .get, .get), (301, .head, .head), (301, .post, .get), (301, .put, .put), (301, .delete, .delete),
      (302, .get, .get), (302, .head, .head), (302, .post, .get), (302, .patch, .patch), (302, .options, .options),
      (303, .get, .get), (303, .head, .head), (303, .post, .get), (303, .put, .get), (303, .delete, .get),
      (307, .get, .get), (307, .head, .head), (307, .post, .post), (307, .put, .put),
      (308, .get, .get), (308, .head, .head), (308, .post, .post), (308, .delete, .delete),
    ] as [(Int, HTTPRequest.Method, HTTPRequest.Method)]
  )
  func method(status: Int, before: HTTPRequest.Method, after: HTTPRequest.Method) throws {
    #expect(try next(request(method: before), "/x", status: status).method == after)
  }

  @Test(
    "The body and the fields that describe it follow the method, to any origin",
    arguments: [
      (301, .post, false), (302, .post, false), (303, .post, false), (303, .put, false),
      (301, .put, true), (302, .put, true), (307, .post, true), (308, .post, true), (307, .put, true),
    ] as [(Int, HTTPRequest.Method, Bool)]
  )
  func body(status: Int, method: HTTPRequest.Method, isKept: Bool) throws {
    var first = try request(method: method, body: RequestBody("text"))
    let names = try [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Expect",
    ]
    .map { try #require(HTTPField.Name($0)) }
    for name in names { first.headerFields[name] = "x" }
    for location in ["/x", "https://b/"] {
      let second = try next(first, location, status: status)
      #expect(second.body?.bytes == (isKept ? Array("text".utf8) : nil))
      for name in names { #expect(second.headerFields[name] == (isKept ? "x" : nil)) }
      #expect(second.headerFields[.accept] == "text/html")
    }
  }

  @Test("D82 a body that can't be sent twice is an error if it is needed again, and none if it is dropped")
  func bodyNotReplayable() throws {
    let body = RequestBody([1, 2], canBeSentAgain: false)
    for (status, method) in [(307, .post), (308, .post), (302, .put), (301, .patch)] as [(Int, HTTPRequest.Method)] {
      let error = #expect(throws: DispatchError.self) {
        try next(request(method: method, body: body), "http://other.example/x", status: status)
      }
      #expect(error?.code == .bodyNotReplayable)
      #expect(error?.detail.contains("\(status)") == true)
      #expect(error?.detail.contains("other.example:80") == true)
    }
    for status in [301, 302, 303] {
      #expect(try next(request(method: .post, body: body), "/x", status: status).body == nil)
    }
    #expect(try next(request(), "/x", status: 307).body == nil)
  }

  @Test(
    "Credentials and unknown fields go to the same scheme, host and port only",
    arguments: [
      ("/x", true), ("x", true), ("https://a.example/x", true), ("HTTPS://A.Example.:443/x", true),
      ("//a.example/x", true), ("https://user:other@a.example/x", true),
      ("https://b.example/x", false), ("//b.example/", false), ("https://sub.a.example/", false),
      ("https://a.example:444/x", false), ("http://a.example/x", false), ("http://a.example:443/x", false),
      ("https://a.example.b.example/", false), ("https://a.example@b.example/", false),
    ]
  )
  func credentials(location: String, areKept: Bool) throws {
    var first = try request("https://a.example/b")
    first.redirects = .all
    let names = [
      "Authorization", "Cookie", "Proxy-Authorization", "Host", "X-Api-Key", "X-Auth-Token", "Referer",
      "Idempotency-Key",
    ]
    for name in names { first.headerFields[try #require(HTTPField.Name(name))] = "secret" }
    let harmless: HTTPFields = [.accept: "text/html"]
    let second = try next(first, location)
    #expect(second.headerFields == (areKept ? first.headerFields : harmless))
    #expect(first.headerFields[.authorization] == "secret")
  }

  @Test("The scheme may change, and with it the port")
  func schemeChange() throws {
    var first = try request("http://a.example/x")
    first.redirects = .all
    let second = try next(first, "https://a.example/x")
    #expect(second.isSecure)
    #expect(second.endPoint == (try EndPoint(host: "a.example", port: 443)))
    let third = try next(second, "http://a.example/y")
    #expect(third.isSecure == false)
    #expect(third.endPoint.port == 80)
    // Scheme-relative: the scheme stays.
    #expect(try next(second, "//b.example/z").url == "https://b.example/z")
  }

  // The base and the results are those of RFC 3986 section 5.4, with http and a host that names one.
  @Test(
    "RFC 3986 section 5.4, references relative to http://a.example/b/c/d;p?q",
    arguments: [
      ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
      ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
      (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"),
      ("../../g", "/g"),
      ("../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g..", "/b/c/g.."), ("./../g", "/b/g"),
      ("g?y/./x", "/b/c/g?y/./x"), ("g;x=1/../y", "/b/c/y"),
    ]
  )
  func relative(location: String, path: String) throws {
    #expect(try next(request("http://a.example/b/c/d;p?q"), location).url == "http://a.example" + path)
  }

  @Test(
    "Absolute and scheme-relative locations, and those with user information or with characters invalid in URLs",
    arguments: [
      ("http://b.example:8080/x?y#z", "http://b.example:8080/x?y"), ("//b.example", "http://b.example/"),
      ("HTTP://B.Example.", "http://b.example/"), ("/x y?\u{FC}=%20", "/x%20y?%C3%BC=%20"), ("/100%", "/100%25"),
      ("//[::1]:81/a[0]", "http://[::1]:81/a%5B0%5D"), ("http://127.1/", "http://127.0.0.1/"),
      ("http://user:pass@b.example/x", "http://b.example/x"),
    ]
  )
  func absolute(location: String, url: String) throws {
    let expected = url.hasPrefix("/") ? "http://a.example" + url : url
    let second = try next(request(), location)
    #expect(second.url == expected)
    // User information is never sent.
    #expect(second.headerFields[.authorization] == nil)
  }

  @Test(
    "A location that is not an http or https URL is refused",
    arguments: [
      "file:///etc/passwd", "gopher://h/", "ftp://h/x", "scp://h/x", "javascript:alert(1)", "data:text/plain,x",
      "ws://h/",
      "http:", "http:x", "http://", "http:///x", "//", "http://h:0/", "//h:99999999999999999999/",
      "http://bu\u{308}cher.example/",
      "http://[::1", "",
    ]
  )
  func refused(location: String) {
    let error = #expect(throws: DispatchError.self) { try next(request(), location) }
    #expect(error?.code == .badRedirect)
    #expect(error?.phase == .awaitingHead)
    #expect(error?.detail.isEmpty == false)
  }

  @Test("Limits on time, size and redirects are kept")
  func limits() throws {
    var first = try request()
    first.timeout = .seconds(1)
    first.deadline = .seconds(2)
    first.connectTimeout = .seconds(3)
    first.idleTimeout = .seconds(4)
    first.maxBodyBytes = 5
    first.maxRedirects = 6
    first.redirects = .all
    first.maxDownloadBytes = 7
    first.minimumSpeed = TransferSpeed(bytesPerSecond: 8, over: .seconds(9))
    let second = try next(first, "http://b.example/")
    #expect(second.timeout == .seconds(1))
    #expect(second.deadline == .seconds(2))
    #expect(second.connectTimeout == .seconds(3))
    #expect(second.idleTimeout == .seconds(4))
    #expect(second.maxBodyBytes == 5)
    #expect(second.maxRedirects == 6)
    #expect(
      second.redirects.objection(
        to: ProposedRedirect(from: "", to: "", statusCode: 0), isSameOrigin: false, isDowngrade: true) == nil)
    #expect(second.maxDownloadBytes == 7)
    #expect(second.minimumSpeed == first.minimumSpeed)
  }

  @Test(
    "invalid UTF-8 in a location is percent-encoded unchanged",
    arguments: [
      ([0x2F, 0xFC, 0x62], "/%FCb"), (Array("/\u{FC}".utf8), "/%C3%BC"), ([0x2F, 0xC3, 0xBC, 0xFC], "/%C3%BC%FC"),
      (Array("/a%FCb".utf8), "/a%FCb"), ([0x2F, 0x3F, 0xFF, 0x20, 0x26], "/?%FF%20&"),
      ([0x2F, 0xED, 0xA0, 0x80], "/%ED%A0%80"),
    ] as [([UInt8], String)])
  func bytes(location: [UInt8], path: String) async throws {
    let block = Array("HTTP/1.1 302 Found\r\nLocation: ".utf8) + location + Array("\r\n\r\n".utf8)
    let fields: HTTPFields = [.location: ""]
    var lenient = HTTPFields()
    lenient.append(HTTPField(name: .location, lenientValue: location))
    for head in [ResponseHead(statusCode: 302, block: block), ResponseHead(statusCode: 302, headerFields: lenient)] {
      let written = try #require(head.location)
      #expect(try next(request(), written).url == "http://a.example" + path)
    }
    #expect(ResponseHead(statusCode: 302, headerFields: fields).location == "")
    #expect(ResponseHead(statusCode: 302).location == nil)
  }

  @Test("the dispatcher follows it in this form, and an error shows no password from it")
  func dispatched() throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try bench.request()
    request.maxRedirects = 1
    bench.send(request, into: responses)
    let first = try #require(bench.transport.takeStarted())
    first.head(ResponseHead(statusCode: 302, block: Array("Location: /".utf8) + [0xE9, 0x0A]))
    first.end()
    let second = try #require(bench.transport.takeStarted())
    #expect(second.request.url == "http://a/%E9")
    second.respond(302, [.location: "http://u:secret@b/"])
    #expect(responses.last?.code == .tooManyRedirects)
    bench.send(request, into: responses)
    try #require(bench.transport.takeStarted()).respond(302, [.location: "ftp://u:secret@b/\u{202E}"])
    #expect(responses.last?.code == .badRedirect)
    for error in responses.values.compactMap(\.error) {
      #expect(!error.description.contains("secret") && !error.description.contains("\u{202E}"))
    }
    #expect(bench.isClean())
  }
}
