import Headgate
import HeadgateOrigin
import Testing

/// The code of docs/migrating.md for the classic dispatcher of the process, which is the umbrella's.
@Suite struct MigratingSharedTests {
  @Test("LSURLDispatcher: the one of the process, its end, and the fresh one after it")
  func shared() async throws {
    let origin = try Origin()
    let response = try await URLDispatcher.shared.data(for: origin.url("/"))
    #expect(response.statusCode == 200)
    let first = URLDispatcher.shared
    #expect(first === URLDispatcher.shared)
    URLDispatcher.disposeShared()
    #expect(first !== URLDispatcher.shared)
    #expect(try await URLDispatcher.shared.data(for: origin.url("/")).statusCode == 200)
    await #expect(throws: DispatchError.self) { try await first.data(for: origin.url("/")) }
    URLDispatcher.disposeShared()
    let own = try URLDispatcher(limits: GateLimits(endPoint: .classic))
    #expect(own.limits.endPoint.requests == 4)
    await own.shutDown(.graceful)
    origin.stop()
  }
}
