#if canImport(Glibc)
import Foundation
import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// Nothing is resent without a decision of the dispatcher, and a cancelled request is gone from the server before the
/// next one arrives.
@Suite struct SentOnceTests {
  /// Answers the first request of each connection, reads the second one and closes. Counts received requests.
  private final class ForgetfulServer: Sendable {
    let requests = LockedBox<[String]>([])
    let server: RawServer

    /// - Parameter answered: How many requests are answered on each connection.
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

  @Test("a body that is cut short is retried by the policy if it is buffered, and the complete one is the response")
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

  @Test("a POST on a kept connection that breaks is not resent", arguments: ["POST", "PATCH"])
  func unsafeMethods(_ name: String) async throws {
    let server = try ForgetfulServer()
    let dispatcher = try dispatcher()
    _ = try await dispatcher.data(for: DispatchRequest(server.server.url()))
    let method = try #require(HTTPRequest.Method(name))
    // It could be resent: only the method forbids it.
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
    // Each except the first meets a closed connection.
    #expect(server.count("GET") == 39)
    await dispatcher.shutDown(.drain)
    server.server.stop()
  }

  @Test("attempts count every send, including those on broken connections")
  func attempts() async throws {
    // Always closes without an answer.
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
    request.retry = RetryPolicy(attempts: 2, budget: .none)
    #expect(await failure(request, dispatcher)?.code == .connectionLost)
    #expect(seen.withLock { $0 } == 3)
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("500 GETs from a server that drops kept connections: none is lost")
  func noneIsLost() async throws {
    let server = try RawServer { connection in
      // Closes silently after one to four answers, while the client may be about to send.
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

  @Test("an upload that ends early is gone from the server before its permit moves on", arguments: [false, true])
  func unfinishedUploads(timesOut: Bool) async throws {
    let operations = LockedBox<[URLDispatchOperation]>([])
    let (submitted, clock) = (Gate(), ManualClock())
    // Reads only one byte. Further data fills the buffers on both sides.
    let server = try RawServer(receiveBuffer: 4096) { connection in
      var byte = UInt8(0)
      _ = recv(connection.descriptor, &byte, 1, 0)
      // One at a time, in the order of submission.
      _ = submitted.wait(until: .after(.seconds(60)))
      if timesOut {
        clock.advance(by: .milliseconds(300))
      } else {
        operations.withLock { $0[connection.number] }.cancel()
      }
      connection.waitForEnd()
    }
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: clock)
    let count = timesOut ? 4 : 12
    for _ in 0..<count {
      var request = try DispatchRequest(
        server.url(), method: .put, body: RequestBody([UInt8](repeating: 1, count: 4 << 20)))
      request.expectsContinue = false
      if timesOut { request.timeout = .milliseconds(300) }
      let operation = dispatcher.dispatch(request) { _ in }
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
