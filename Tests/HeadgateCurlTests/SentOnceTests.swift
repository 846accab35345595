#if canImport(Glibc)
import Foundation
import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// Nothing is sent again that the dispatcher did not decide to send again; and what was cancelled is gone from the server
/// before the next one comes.
@Suite struct SentOnceTests {
  /// Answers the first request of each connection, reads the second one and closes; counts what it was sent.
  private final class ForgetfulServer: Sendable {
    let requests = LockedBox<[String]>([])
    let server: RawServer

    /// - Parameter answered: The requests that are answered on each connection.
    init(answered: Int = 1) throws {
      server = try RawServer { [requests] connection in
        for number in 0... {
          guard let request = connection.request() else { return }
          requests.withLock { $0.append(String(request.prefix { $0 != " " })) }
          guard number < answered else { return }
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
      }
    }

    func count(_ method: String) -> Int { requests.withLock { $0.count { $0 == method } } }
  }

  private func dispatcher(_ requests: Int = 1) throws -> URLDispatcher {
    URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
  }

  private func failure(_ request: DispatchRequest, _ dispatcher: URLDispatcher) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  @Test("a body that is cut short is sent again by the policy where it is gathered, and the whole one is the response")
  func cutShort() async throws {
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      let body = connection.number == 0 ? "half" : "half and half"
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n\(body)")
    }
    let dispatcher = try dispatcher()
    var request = try DispatchRequest(server.url())
    request.retry = RetryPolicy(attempts: 2, backoff: .none)
    let response = try await dispatcher.data(for: request)
    #expect((response.text, response.times.attempts) == ("half and half", 2))
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("a POST on a kept connection that breaks is not sent again", arguments: ["POST", "PATCH"])
  func unsafeMethods(_ name: String) async throws {
    let server = try ForgetfulServer()
    let dispatcher = try dispatcher()
    _ = try await dispatcher.data(for: DispatchRequest(server.server.url()))
    let method = try #require(HTTPRequest.Method(name))
    // It could be sent again: the method is what forbids it.
    let body = RequestBody("hello")
    let error = await failure(try DispatchRequest(server.server.url(), method: method, body: body), dispatcher)
    #expect(error?.code == .connectionLost)
    #expect(server.count(name) == 1)
    await dispatcher.shutDown(.drain)
    server.server.stop()
  }

  @Test("a GET on a kept connection that breaks is sent once more, on a new one")
  func safeMethods() async throws {
    let server = try ForgetfulServer()
    let dispatcher = try dispatcher()
    for _ in 0..<20 {
      let response = try await dispatcher.data(for: DispatchRequest(server.server.url()))
      #expect(response.statusCode == 200)
    }
    // Each but the first meets a connection that is closed under it.
    #expect(server.count("GET") == 39)
    await dispatcher.shutDown(.drain)
    server.server.stop()
  }

  @Test("attempts are what is sent: those on connections that break count too")
  func attempts() async throws {
    // Closes without an answer, always.
    let seen = LockedBox(0)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      if seen.withLock({ count in
        count += 1
        return count == 1
      }) {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        _ = connection.request()
        seen.withLock { $0 += 1 }
      }
    }
    let dispatcher = try dispatcher()
    _ = try await dispatcher.data(for: DispatchRequest(server.url()))
    var request = try DispatchRequest(server.url())
    request.retry = RetryPolicy(attempts: 2, budget: nil)
    #expect(await failure(request, dispatcher)?.code == .connectionLost)
    #expect(seen.withLock { $0 } == 3)
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("500 GETs from a server that drops kept connections: none is lost")
  func noneIsLost() async throws {
    let server = try RawServer { connection in
      // Closes without a word after one to four answers, while the client may be about to send.
      for _ in 0...(connection.number % 4) {
        guard connection.request() != nil else { return }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    let dispatcher = try dispatcher(4)
    let url = server.url()
    let lost = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<500 {
        group.addTask { (try? await dispatcher.data(for: url).statusCode) != 200 }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(lost == 0)
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("an upload that ends early is gone from the server before its permit goes on", arguments: [false, true])
  func unfinishedUploads(timesOut: Bool) async throws {
    let operations = LockedBox<[URLDispatchOperation]>([])
    let submitted = Gate()
    // Reads a byte only: what is sent beyond fills the buffers on both sides.
    let server = try RawServer(receiveBuffer: 4096) { connection in
      var byte = UInt8(0)
      _ = recv(connection.descriptor, &byte, 1, 0)
      // One at a time, in the order that they were submitted in.
      _ = submitted.wait(until: .after(.seconds(20)))
      if !timesOut { operations.withLock { $0[connection.number] }.cancel() }
      connection.waitForEnd()
    }
    let dispatcher = try dispatcher()
    let count = timesOut ? 4 : 12
    for _ in 0..<count {
      var request = try DispatchRequest(
        server.url(), method: .put, body: RequestBody([UInt8](repeating: 1, count: 4 << 20)))
      request.expectsContinue = false
      if timesOut { request.timeout = .milliseconds(300) }
      let operation = dispatcher.dispatchShort(request) { _ in }
      operations.withLock { $0.append(operation) }
    }
    submitted.open()
    await dispatcher.shutDown(.drain)
    #expect(server.accepted == count)
    #expect(server.peak == 1)
    server.stop()
  }
}
#endif
