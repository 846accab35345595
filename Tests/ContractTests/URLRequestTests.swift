import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateURLSession
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The types of the classic library: URLRequest in, Data and URLResponse out.
@Suite struct URLRequestTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test("address, method, fields and body are kept")
  func parts() throws {
    var classic = URLRequest(url: try url("http://h:8080/a?b=c"))
    classic.httpMethod = "PUT"
    classic.setValue("text/x", forHTTPHeaderField: "Accept")
    classic.httpBody = Data([1, 2, 3])
    let request = try DispatchRequest(classic)
    #expect(request.url == "http://h:8080/a?b=c")
    #expect(request.method == .put)
    #expect(request.headerFields[.accept] == "text/x")
    #expect(request.body?.bytes == [1, 2, 3])
  }

  @Test(
    "timeoutInterval is the limit from the permit on; zero and more than a century are no limit",
    arguments: [
      (60, Duration.seconds(60)), (0.25, .milliseconds(250)), (0, nil), (-1, nil), (.infinity, nil),
      (.greatestFiniteMagnitude, nil),
    ])
  func timeout(seconds: Double, limit: Duration?) throws {
    var classic = URLRequest(url: try url("http://h/"))
    classic.timeoutInterval = seconds
    let request = try DispatchRequest(classic)
    #expect(request.timeout == limit)
    #expect(request.deadline == nil)
  }

  @Test("an unsupported request is an error with a reason")
  func refused() throws {
    var streamed = URLRequest(url: try url("http://h/"))
    streamed.httpBodyStream = InputStream(data: Data([1]))
    var odd = URLRequest(url: try url("http://h/"))
    odd.httpMethod = "A B"
    for (classic, word) in [(streamed, "httpBody"), (odd, "A B"), (URLRequest(url: try url("ftp://h/")), "ftp")] {
      let error = #expect(throws: DispatchError.self) { try DispatchRequest(classic) }
      #expect(error?.description.contains(word) == true)
    }
  }

  @Test("over URLSession a GET with a body is refused, and a POST without a type is no form")
  func bodies() async throws {
    let origin = try Origin()
    origin.setScript(OriginScript { .text($0.header("Content-Type") ?? "none") })
    let dispatcher = URLDispatcher(transport: URLSessionTransport())
    var request = try DispatchRequest(origin.url("/"))
    request.body = RequestBody([1, 2, 3])
    let error = await #expect(throws: DispatchError.self) { try await dispatcher.data(for: request) }
    #expect(error?.code == .unsupported && error?.description.contains("GET") == true)
    request.method = .post
    let response = try await dispatcher.data(for: request)
    #expect(response.body == Array("application/octet-stream".utf8))
    await dispatcher.shutDown()
  }

  @Test("data and response are returned as Foundation's types")
  func roundTrip() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: URLSessionTransport())
    let (data, response) = try await dispatcher.data(for: URLRequest(url: try url(origin.url("/bytes/5"))))
    #expect(data == Data((0..<5).map { OriginAnswer.patternByte(at: $0) }))
    let http = try #require(response as? HTTPURLResponse)
    #expect(http.statusCode == 200)
    #expect(http.url?.absoluteString == origin.url("/bytes/5"))
    #expect(http.value(forHTTPHeaderField: "Content-Length") == "5")
    await dispatcher.shutDown()
  }

  @Test("the completion form gets data and response, or the error")
  func completion() async throws {
    let transport = ScriptedTransport { $0.respond(201, body: "x") }
    let dispatcher = URLDispatcher(transport: transport)
    let classic = URLRequest(url: try url("http://h/"))
    let (text, status) = await withCheckedContinuation { continuation in
      dispatcher.dispatch(classic) { data, response, error in
        continuation.resume(
          returning: (
            String(decoding: data ?? Data(), as: UTF8.self), (response as? HTTPURLResponse)?.statusCode ?? 0
          ))
      }
    }
    #expect((text, status) == ("x", 201))
    dispatcher.dispose()
    let code = await withCheckedContinuation { continuation in
      dispatcher.dispatch(classic) { data, response, error in
        continuation.resume(returning: data == nil && response == nil ? error?.code : nil)
      }
    }
    #expect(code == .shutDown)
    let isTaken = dispatcher.dispatch(URLRequest(url: try url("ftp://h/"))) { data, response, error in
      #expect((data == nil, response == nil, error?.code) == (true, true, .invalidURL))
    }
    #expect(isTaken == nil)
  }
}
