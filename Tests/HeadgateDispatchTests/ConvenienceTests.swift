import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// What nearly every program does with a response, a body and its requests.
@Suite struct ConvenienceTests {
  @Test(
    "only a status of 200 to 299 is successful, in memory, as a stream and in a file",
    arguments: [200, 204, 299, 199, 300, 404, 503])
  func successful(status: Int) async throws {
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bench = try Bench(transport: ScriptedTransport { $0.respond(status, body: status == 204 ? "" : "x") })
    let url = "http://a/x?y=1"
    let calls: [() async throws -> Void] = [
      { _ = try await bench.dispatcher.data(for: url).successful() },
      { _ = try await bench.dispatcher.stream(for: url).successful() },
      { _ = try await bench.dispatcher.download(for: url, to: .replacing(path)).successful() },
    ]
    for call in calls {
      do {
        try await call()
        #expect((200..<300).contains(status))
      } catch let error as StatusError {
        #expect(!(200..<300).contains(status) && error.statusCode == status && error.url == "http://a/x?y=1")
        #expect(error.description == "\(status) from http://a/x?y=1" && error.codeName == "unsuccessful_status")
      }
    }
    #expect(await bench.isCleanAtLast())
  }

  @Test("a JSON body brings its content type, unless the request has one")
  func contentType() throws {
    let body = try RequestBody(json: ["a": 1])
    #expect(body.contentType == "application/json")
    #expect(try DispatchRequest("http://a/", body: body).headerFields[.contentType] == "application/json")
    var request = try DispatchRequest(
      "http://a/", method: .post, headerFields: [.contentType: "application/problem+json"], body: body)
    #expect(request.headerFields[.contentType] == "application/problem+json")
    request = try DispatchRequest("http://a/")
    request.body = RequestBody("text")
    #expect(request.headerFields[.contentType] == nil)
    request.body = body
    #expect(request.headerFields[.contentType] == "application/json")
    request.body?.contentType = "application/vnd.api+json"
    #expect(request.headerFields[.contentType] == "application/vnd.api+json")
    request.body = RequestBody([1])
    #expect(request.headerFields[.contentType] == nil)
  }

  @Test("the requests that have not ended are listed, all or those to an end-point, and can be cancelled one by one")
  func operations() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    for host in ["a", "a", "b"] { bench.send(try bench.request(host: host), into: responses) }
    #expect(bench.dispatcher.operations().count == 3)
    let waiting = bench.dispatcher.operations(to: try EndPoint("http://a")).filter { $0.state == .waiting }
    #expect(waiting.map { $0.waitReason?.description } == ["limit 1/1"])
    waiting.first?.cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(bench.dispatcher.operations(to: try EndPoint("http://a")).map(\.state) == [.running])
    bench.dispatcher.dispose()
    #expect(bench.dispatcher.operations().isEmpty)
  }
}
