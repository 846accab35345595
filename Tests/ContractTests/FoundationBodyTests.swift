import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateURLSession
import Testing

/// Bodies in Foundation's types.
@Suite struct FoundationBodyTests {
  private struct Order: Codable, Equatable {
    var name: String
    var count: Int
  }

  @Test(
    "data arrives whole over every transport, slices of data too, and again after a redirect",
    arguments: TransportOnTrial.all)
  func data(_ trial: TransportOnTrial) async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try trial.make())
    let large = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for data in [Data(), Data([7]), large, large[100..<600_001]] {
      let body = RequestBody(data)
      #expect((body.length, body.canBeSentAgain) == (Int64(data.count), true))
      var request = try DispatchRequest(origin.url("/echo"), method: .post, body: body)
      request.connectTimeout = nil
      let response = try await dispatcher.data(for: request)
      #expect(response.data == data)
    }
    await dispatcher.shutDown()
  }

  @Test("a body from data is copied slice by slice, and restarts when it is sent again")
  func slices() async throws {
    let transport = ScriptedTransport()
    let dispatcher = URLDispatcher(transport: transport)
    let data = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0) })
    let request = try DispatchRequest("http://slices.example/", method: .put, body: RequestBody(data))
    async let response = dispatcher.data(for: request)
    var exchange = try await transport.next()
    #expect(exchange.exchange.body?.whole == nil)
    #expect(try await exchange.nextBody(upTo: 1_000_000)?.count == 256 * 1024)
    exchange.respond(307, [.location: "/again"])
    exchange = try await transport.next()
    #expect(try await exchange.restOfBody() == Array(data))
    exchange.respond()
    #expect(try await response.statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("a value is sent as JSON and returns")
  func json() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: URLSessionTransport())
    let order = Order(name: "lamp", count: 2)
    let request = try DispatchRequest(origin.url("/echo"), method: .post, body: RequestBody(json: order))
    let response = try await dispatcher.data(for: request)
    #expect(try response.decode(Order.self) == order)
    #expect(throws: DecodingError.self) { try response.decode([Order].self) }
    await dispatcher.shutDown()
  }
}
