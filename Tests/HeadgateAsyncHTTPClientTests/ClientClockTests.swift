#if AsyncHTTPClient
import HeadgateAsyncHTTPClient
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import NIOCore
import NIOPosix
import Testing

/// Time limits of the transport itself. Real time passes here.
@Suite struct ClientClockTests {
  private func failure(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  @Test("connectTimeout ends a request whose handshake is not answered, each after its own time")
  func handshake() async throws {
    let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
      host: "127.0.0.1", port: 0
    )
    .get()
    var configuration = AsyncHTTPClientTransport.Configuration()
    configuration.connectTimeout = .seconds(5)
    let dispatcher = URLDispatcher(transport: try AsyncHTTPClientTransport(configuration: configuration))
    for limit in [50, 150] {
      var request = try DispatchRequest("https://127.0.0.1:\(silent.localAddress?.port ?? 1)/")
      request.connectTimeout = .milliseconds(limit)
      let error = await failure(dispatcher, request)
      #expect(error?.code == .connectTimedOut, "\(String(describing: error))")
      #expect(error?.phase == .connecting)
      #expect((error?.ran ?? .zero) >= .milliseconds(limit))
    }
    // The attempt itself ends by the transport's limit, which the shutdown waits for.
    var request = try DispatchRequest("https://127.0.0.1:\(silent.localAddress?.port ?? 1)/")
    request.connectTimeout = nil
    #expect(await failure(dispatcher, request)?.code == .connectTimedOut)
    await dispatcher.shutDown()
    try await silent.close().get()
  }

  @Test("connectTimeout ends once the request is sent, however long the answer takes")
  func slowAnswer() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try AsyncHTTPClientTransport())
    var request = try DispatchRequest(origin.url("/delay/10500"))
    request.connectTimeout = .seconds(10)
    #expect(await failure(dispatcher, request) == nil)
    await dispatcher.shutDown()
    origin.stop()
  }

  @Test("an unknown name, no server at the port: an error at once, and not after the connect timeout")
  func nobody() async throws {
    var configuration = AsyncHTTPClientTransport.Configuration()
    configuration.connectTimeout = .seconds(3600)
    let dispatcher = URLDispatcher(transport: try AsyncHTTPClientTransport(configuration: configuration))
    // Not the port of a server that has stopped: another process may get that port.
    let nowhere = "http://127.0.0.1:1/"
    for (url, code, phase) in [
      ("http://nowhere.invalid/", .nameNotResolved, .name), (nowhere, .connectFailed, .connecting),
    ] as [(String, DispatchError.Code, DispatchError.Phase)] {
      var request = try DispatchRequest(url)
      request.connectTimeout = nil
      request.timeout = .seconds(30)
      let error = await failure(dispatcher, request)
      #expect(error?.code == code, "\(String(describing: error))")
      #expect(error?.phase == phase)
    }
    await dispatcher.shutDown()
  }
}
#endif
