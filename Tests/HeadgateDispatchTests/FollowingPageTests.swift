import HTTPTypes
import HeadgateGate
import Testing

@testable import HeadgateDispatch

/// Requests for the pages after a response.
@Suite struct FollowingPageTests {
  @Test(arguments: [
    ("?page=2", "http://a.example/items/all?page=2"), ("b", "http://a.example/items/b"), ("/b", "http://a.example/b"),
    ("../b#c", "http://a.example/b"), ("//b.example:81", "http://b.example:81/"),
    ("HTTPS://ada:pass@B.example/a b", "https://b.example/a%20b"),
  ])
  func `A reference is resolved against the URL of the request`(reference: String, url: String) throws {
    let request = try DispatchRequest("http://a.example/items/all?page=1")
    #expect(try request.target(of: reference) == url)
    let error = #expect(throws: DispatchError.self) { try request.target(of: "ftp://a.example/") }
    #expect(error?.code == .invalidURL)
  }

  @Test func `A server behind a socket names pages of its own`() throws {
    var request = try DispatchRequest("http+unix://%2Frun%2Fs/items")
    request.headerFields[try #require(HTTPField.Name("Host"))] = "a.example"
    for reference in ["/b", "http://a.example/b"] {
      let page = try request.page(at: try request.target(of: reference))
      #expect(page?.url == "http+unix://%2Frun%2Fs/b")
    }
    #expect(try request.page(at: try request.target(of: "http://b.example/b")) == nil)
  }

  @Test func `A page is a GET with the fields of the request, and without its body`() throws {
    var request = try DispatchRequest("https://a.example/items")
    request.method = .post
    request.body = RequestBody("x")
    request.headerFields[.contentType] = "text/plain"
    request.headerFields[.authorization] = "secret"
    request.timeout = .seconds(7)
    let page = try #require(try request.page(at: "https://A.example:443/items?page=2"))
    #expect(page.url == "https://a.example/items?page=2" && page.method == .get && page.body == nil)
    #expect(page.headerFields == [.authorization: "secret"] && page.timeout == .seconds(7))
    #expect(request.method == .post && request.body != nil)
  }

  @Test(arguments: [
    "https://b.example/", "http://a.example/", "http://a.example:443/", "https://a.example:444/",
    "https://a.example@b.example/", "http+unix://%2Frun%2Fs/",
  ])
  func `No page is at another origin`(url: String) throws {
    let request = try DispatchRequest("https://a.example/items")
    #expect(try request.page(at: url) == nil)
    #expect(throws: DispatchError.self) { try request.page(at: "/items") }
  }
}
