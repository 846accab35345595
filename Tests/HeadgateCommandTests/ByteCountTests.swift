import Foundation
import HeadgateDispatch
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// The status line's count of bytes.
@Suite struct ByteCountTests {
  @Test("the bytes of each download are added, in whatever order several of them report")
  func several() async throws {
    let count = ByteCount()
    let dispatcher = URLDispatcher(
      transport: ScriptedTransport { exchange in
        let isFound = exchange.request.url.hasSuffix("1")
        exchange.head(isFound ? 200 : 404)
        for _ in 0..<(isFound ? 5 : 1) { exchange.body([UInt8](repeating: 1, count: 50_000)) }
        exchange.end()
      })
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for number in 0..<4 {
      let request = try DispatchRequest("http://bytecount.example/\(number % 2)")
      _ = try await dispatcher.download(for: request, to: .replacing(path), onProgress: count.listener())
    }
    #expect(count.value == 600_000)
    count.add(5)
    #expect(count.value == 600_005)
    await dispatcher.shutDown()
  }
}
