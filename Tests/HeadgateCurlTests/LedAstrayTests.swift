#if canImport(Glibc)
import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Redirects that a server can't force on its client, and data that stays with one server.
@Suite struct LedAstrayTests {
  /// Answers every request, and records it.
  private static func server(
    socket path: String? = nil, _ seen: LockedBox<[String]>, _ answer: String
  ) throws -> RawServer {
    try RawServer(socket: path) { connection in
      while let request = connection.request() {
        seen.withLock { $0.append(request) }
        guard connection.send(answer) else { return }
      }
    }
  }

  private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  // The public server is behind a proxy, so its address is unknown.
  @Test(
    "a redirect from a public server to the name of a private address is refused, even over an open connection",
    arguments: [false, true])
  func privateAddress(isConnected: Bool) async throws {
    let asked = LockedBox<[String]>([])
    let inside = try Self.server(asked, Self.fine)
    // The tests' resolver answers 127.0.0.1.
    let url = "http://inside.loop.test:\(inside.port)/secret"
    let proxy = try Self.server(
      LockedBox([]), "HTTP/1.1 302 Found\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n")
    var configuration = CurlTransport.Configuration()
    configuration.proxy = .through(try CurlProxy("127.0.0.1:\(proxy.port)"), except: "loop.test")
    let dispatcher = URLDispatcher(transport: try CurlTransport(configuration: configuration))
    if isConnected { #expect(try await dispatcher.data(for: url).statusCode == 200) }
    var request = try DispatchRequest("http://public.example/")
    request.redirects = .noDowngrade.refusingPrivateAddresses
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      Issue.record("it was followed")
    } catch {
      #expect(error.code == .redirectRefused)
      #expect(error.description.contains("127.0.0.1"))
    }
    #expect(asked.withLock { $0.count } == (isConnected ? 1 : 0))
    #expect(inside.accepted == (isConnected ? 1 : 0))
    // With the option, it is followed.
    request.redirects = .noDowngrade
    #expect(try await dispatcher.data(for: request).statusCode == 200)
    await dispatcher.shutDown(.drain)
    inside.stop()
    proxy.stop()
  }

  @Test("a server on this machine may redirect to another one on it")
  func amongPrivateAddresses() async throws {
    let there = try Self.server(LockedBox([]), Self.fine)
    let here = try Self.server(
      LockedBox([]), "HTTP/1.1 302 Found\r\nLocation: \(there.url())\r\nContent-Length: 0\r\n\r\n")
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    var request = try DispatchRequest(here.url())
    request.redirects = .noDowngrade.refusingPrivateAddresses
    #expect(try await dispatcher.data(for: request).statusCode == 200)
    await dispatcher.shutDown(.drain)
    here.stop()
    there.stop()
  }

  @Test("D71 a jar's cookies for localhost are not sent to sockets, also after a TCP request; none come from there")
  func cookiesAndSockets() async throws {
    let folder = try TemporaryFolder()
    let (overTCP, overSocket) = (LockedBox<[String]>([]), LockedBox<[String]>([]))
    func answer(_ cookie: String) -> String {
      "HTTP/1.1 200 OK\r\nSet-Cookie: \(cookie)=1; Path=/\r\nContent-Length: 2\r\n\r\nok"
    }
    let tcp = try Self.server(overTCP, answer("tcp"))
    let socket = try Self.server(socket: folder.path + "/s", overSocket, answer("socket"))
    var configuration = CurlTransport.Configuration()
    let jar = try CookieJar()
    jar.add("Set-Cookie: here=1; Domain=localhost; Path=/")
    configuration.cookies = jar
    let dispatcher = URLDispatcher(transport: try CurlTransport(configuration: configuration))
    let there = "http+unix://\(folder.path.replacing("/", with: "%2F"))%2Fs/"
    for url in [there, "http://localhost:\(tcp.port)/", there, "http://localhost:\(tcp.port)/"] {
      #expect(try await dispatcher.data(for: url).statusCode == 200)
    }
    #expect(overSocket.withLock { $0.count } == 2)
    #expect(overSocket.withLock { $0.allSatisfy { !$0.contains("Cookie:") } })
    #expect(overTCP.withLock { $0.last.map { $0.contains("here=1") && $0.contains("tcp=1") } } == true)
    #expect(jar.lines.count == 2 && jar.lines.allSatisfy { !$0.contains("socket") })
    await dispatcher.shutDown(.drain)
    tcp.stop()
    socket.stop()
  }
}
#endif
