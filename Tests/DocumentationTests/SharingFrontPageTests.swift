import Foundation
import Headgate
import HeadgateOrigin
import HeadgateSharing
import Testing

/// The example on the front page of HeadgateSharing.
@Suite struct SharingFrontPageTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  @Test("HeadgateSharing")
  func sharing() async throws {
    let server = try Origin()
    let path = "/tmp/hg-doc-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (folder, url) = (PermitFolder(path: path), server.url("/"))
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 4))
    let coordinator = UnixCoordinator(folder: folder)
    let dispatcher = try URLDispatcher(limits: limits, coordinator: coordinator)
    let response = try await dispatcher.data(for: url)
    print(response.statusCode)
    await dispatcher.shutDown()
    coordinator.shutDown()
    #expect(
      printed.text == """
        200
        """)
  }
}
