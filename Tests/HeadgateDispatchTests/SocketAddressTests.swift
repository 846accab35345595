import HTTPTypes
import HeadgateDispatch
import Testing

@Suite struct SocketAddressTests {
  @Test("D71 the path of a Unix-domain socket is an end-point, and two paths are two")
  func endPoints() throws {
    let one = try EndPoint(unixSocket: "/run/one.sock")
    #expect(one == (try EndPoint("http+unix://%2Frun%2Fone.sock/any?path=x")))
    #expect(one == (try EndPoint(unixSocket: "/run//./one.sock")))
    #expect(one != (try EndPoint(unixSocket: "/run/two.sock")))
    #expect(one != (try EndPoint(unixSocket: "/run/../run/one.sock")))
    #expect(one.isUnixSocket)
    #expect(one.host == "/run/one.sock")
    #expect(one.port == 0)
    #expect(one.description == "unix:/run/one.sock")
    #expect(!(try EndPoint("http://run/")).isUnixSocket)
  }

  @Test(
    "D71 an invalid socket path is an error that says so",
    arguments: [
      "", "relative", "/", "/" + String(repeating: "x", count: 103), "/a\0b",
    ])
  func notAPath(path: String) {
    let error = #expect(throws: EndPointError.self) { try EndPoint(unixSocket: path) }
    #expect(error?.code == .invalidPath)
    #expect(error?.description.contains("socket") == true)
  }

  @Test("D71 the URL is kept in one spelling, and its target is sent to localhost")
  func requests() throws {
    let request = try DispatchRequest("HTTP+Unix://%2frun%2fx.sock/a b?c=d#e")
    #expect(request.url == "http+unix://%2Frun%2Fx.sock/a%20b?c=d")
    #expect(request.endPoint == (try EndPoint(unixSocket: "/run/x.sock")))
    #expect(!request.isSecure)
    #expect(request.wireURL == "http://localhost/a%20b?c=d")
    #expect(try DispatchRequest("https+unix://%2Fx").url == "https+unix://%2Fx/")
    #expect(try DispatchRequest("https+unix://%2Fx?q").wireURL == "https://localhost/?q")
    #expect(try DispatchRequest("http://h/x").wireURL == "http://h/x")
    let named = try DispatchRequest("https+unix://%2Fx/y", headerFields: [try #require(HTTPField.Name("Host")): "h:81"])
    #expect(named.wireURL == "https://h:81/y")
    for url in ["http+unix://run/x", "http+unix://%2/x", "http+unix:///x"] {
      #expect(throws: DispatchError.self) { try DispatchRequest(url) }
    }
  }
}
