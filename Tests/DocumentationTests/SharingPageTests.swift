import Foundation
import Headgate
import HeadgateSharing
import Testing

/// The code of docs/sharing.md, except that for Redis.
@Suite struct SharingPageTests {
  @Test("the permits of the user's programs")
  func dispatcher() async throws {
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 4, rates: [Rate("10/s")]))
    let coordinator = UnixCoordinator()
    let dispatcher = try URLDispatcher(limits: limits, coordinator: coordinator)
    // Without a request it connects to nothing.
    #expect(coordinator.folder == .user)
    await dispatcher.shutDown()
  }

  @Test("a gate without a dispatcher")
  func gate() async throws {
    let path = "/tmp/hg-doc-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    @Sendable func query() async throws -> [String] { ["row"] }
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 4))
    let coordinator = UnixCoordinator(folder: PermitFolder(path: path))
    let gate = EndPointGate(limits: limits, coordinator: coordinator)
    let database = try EndPoint(host: "db.local", port: 5432)
    let rows = try await gate.withPermit(for: database) { try await query() }
    #expect(rows == ["row"] && gate.counts.running == 0)
    coordinator.shutDown()
  }
}
