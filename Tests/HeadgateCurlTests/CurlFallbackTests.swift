#if canImport(Glibc)
import CStallingResolver
import Glibc
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import Testing

/// Names whose IPv6 address does not answer. Real time passes: three seconds of connecting.
@Suite struct CurlFallbackTests {
  @Test(
    "an IPv6 address that does not answer gives way to IPv4 within half of the connect timeout, one socket at a time"
  )
  func fallback() async throws {
    let origin = try Origin()
    guard let silence = Silence(port: origin.port) else { return }
    let transport = try CurlTransport()
    let dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    for _ in 0..<3 {
      var request = try DispatchRequest("http://a.dual.test:\(origin.port)/bytes/10")
      #expect(await transport.lookUpName(for: request))
      request.connectTimeout = .seconds(6)
      #expect(try await dispatcher.data(for: request).body.count == 10)
    }
    #expect(origin.counts().peakSockets == 1)
    await dispatcher.shutDown(.drain)
    silence.end()
    origin.stop()
  }

  @Test("a name without a reachable IPv4 address ends with the connect timeout, and the error says so")
  func noOtherAddress() async throws {
    let origin = try Origin()
    guard let silence = Silence(port: origin.port) else { return }
    let transport = try CurlTransport()
    let dispatcher = URLDispatcher(transport: transport)
    var request = try DispatchRequest("http://b.six.test:\(origin.port)/")
    // Otherwise the timeout could end the look-up.
    #expect(await transport.lookUpName(for: request))
    request.connectTimeout = .milliseconds(500)
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      Issue.record("the request was answered")
    } catch {
      #expect(error.code == .connectTimedOut)
      #expect(error.phase == .connecting)
    }
    await dispatcher.shutDown(.drain)
    silence.end()
    origin.stop()
  }

  // libcurl 7.88 closes such a socket without notice.
  @Test("a socket that never connected is no idle connection, and leaves its place under the total limit")
  func neverConnected() async throws {
    let origin = try Origin(endPoints: 2)
    guard let silence = Silence(port: origin.port) else { return }
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 1))
    for _ in 0..<2 {
      var request = try DispatchRequest("http://[::1]:\(origin.port)/")
      request.connectTimeout = .milliseconds(200)
      do throws(DispatchError) {
        _ = try await dispatcher.data(for: request)
        Issue.record("the request was answered")
      } catch {
        #expect(error.code == .connectTimedOut)
      }
      for endPoint in 0..<4 {
        #expect(try await dispatcher.data(for: origin.url("/bytes/10", endPoint: endPoint % 2)).body.count == 10)
      }
    }
    await dispatcher.shutDown(.drain)
    silence.end()
    origin.stop()
  }
}

/// A port of ::1 without a server: its backlog is full, so the kernel drops new connections.
private struct Silence {
  private var descriptors: [Int32] = []

  /// Nil if the machine has no IPv6.
  init?(port: UInt16) {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6addr_loopback
    let listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { return nil }
    descriptors = [listener]
    let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) == 0 }
    }
    guard isBound, listen(listener, 0) == 0 else {
      end()
      return nil
    }
    for _ in 0..<4 {
      let knocker = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      descriptors.append(knocker)
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(knocker, $0, size) }
      }
    }
  }

  func end() { for descriptor in descriptors { close(descriptor) } }
}
#endif
