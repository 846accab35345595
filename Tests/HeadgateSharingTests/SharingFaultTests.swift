import Dispatch
import Foundation
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// What goes wrong between programs, servers and pipes.
@Suite struct SharingFaultTests {
  private let place = SharingPlace()

  /// Gets a permit over a plain connection, and returns the path of its pipe.
  private func path(over channel: inout PermitChannel) throws -> String {
    try channel.send(.ask(1, PermitAsk(try EndPoint(host: "a", port: 80))))
    while let reply = channel.next() {
      switch reply {
      case .granted(1, let path, _): return path
      // The server's greeting.
      case .knows: continue
      default: break
      }
      break
    }
    Issue.record("no permit")
    return ""
  }

  @Test("what is written to a pipe is read in parts, so that no program can keep the server's thread")
  func writtenTo() throws {
    try place.folder.prepare()
    var pipe = try PermitPipe.create(at: place.folder.pipe(1))
    let writer = try PermitPipe.take(place.folder.pipe(1))
    pipe.unguard()
    let bytes = [UInt8](repeating: 7, count: 10_000)
    let count = bytes.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
    StreamSocket.close(writer)
    #expect(count == 10_000)
    #expect(pipe.hasWriter && pipe.hasWriter && pipe.hasWriter)
    #expect(!pipe.hasWriter)
    pipe.closeAll()
  }

  @Test("a server never uses the name of an earlier server's pipe, which a slow program may still open")
  func names() throws {
    var paths: Set<String> = []
    for _ in 0..<3 {
      let server = try #require(try PermitServer.start(in: place.folder))
      var channel = try PermitChannel(place.folder)
      paths.insert(try path(over: &channel))
      try channel.send(.release(1))
      try channel.send(.status)
      while let reply = channel.next(), reply != .end {}
      channel.close()
      server.stop()
      server.wait()
    }
    #expect(paths.count == 3)
  }

  @Test("requests that wait for the first connection are all sent, also if the socket has no room for them")
  func manyRequests() async throws {
    let mayStart = DispatchSemaphore(value: 0)
    let folder = place.folder
    let coordinator = UnixCoordinator(folder: folder, outage: .failClosed()) { folder throws(SharingError) in
      mayStart.wait()
      mayStart.signal()
      _ = try PermitServer.start(in: folder)
    }
    let scopes = (0..<20).map { RequestScope.key(String(repeating: "x", count: 150) + "\($0)") }
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let demand = SharedDemand(for: try EndPoint(host: "a", port: 80), scopes: scopes, limits: limits)
    let count = 200
    let (results, end) = AsyncStream.makeStream(of: Bool.self)
    var requests: [any SharedPermitRequest] = []
    for _ in 0..<count {
      requests.append(
        coordinator.requestPermit(demand) { result in
          end.yield((try? result.get())?.release() == true)
        })
    }
    mayStart.signal()
    var served = 0
    for await isServed in results {
      #expect(isServed)
      served += 1
      if served == count { break }
    }
    #expect(served == count)
  }

  @Test("a demand that no server would read fails alone, and others are served", arguments: [true, false])
  func unreadable(isLong: Bool) async throws {
    let coordinator = UnixCoordinator(folder: place.folder)
    let endPoint = try EndPoint(unixSocket: "/run/a b%\n.socket")
    let scopes = isLong ? (0..<80).map { RequestScope.key(String(repeating: "x", count: 60) + "\($0)") } : []
    let demand = SharedDemand(for: endPoint, scopes: scopes, weights: isLong ? [:] : ["a": -1])
    do throws(DispatchError) {
      _ = try await coordinator.permit(for: demand)
      Issue.record("a permit for a demand that can't be sent")
    } catch {
      #expect(error.code == .transportFailed)
    }
    try await coordinator.permit(for: SharedDemand(for: endPoint, scopes: [.key(""), .key("a b")])).release()
  }
}
