import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Downloads that break off and are continued, over real connections.
@Suite struct ResumingContractTests {
  @Test(
    "a download that breaks off is continued, by the next attempt and by the next download",
    arguments: TransportOnTrial.all, [1, 2])
  func continued(_ trial: TransportOnTrial, attempts: Int) async throws {
    let size = 2_000_000
    let ranges = LockedBox<[String?]>([])
    let origin = try Origin()
    origin.setScript(
      OriginScript { request in
        let range = request.header("Range")
        let isFirst = ranges.withLock { ranges in
          ranges.append(range)
          return ranges.count == 1
        }
        let offset = range.flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
        var answer = OriginAnswer.truncated(declared: size, sent: 1_200_000)
        if !isFirst {
          answer = .bytes((offset..<size).map { OriginAnswer.patternByte(at: $0) }, status: offset > 0 ? 206 : 200)
        }
        answer.headers = [OriginHeader("ETag", "\"1\"")]
        if offset > 0 { answer.headers.append(OriginHeader("Content-Range", "bytes \(offset)-\(size - 1)/\(size)")) }
        return answer
      })
    let dispatcher = URLDispatcher(transport: try trial.make())
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var request = try DispatchRequest(origin.url("/file"))
    request.retry = RetryPolicy(attempts: attempts)
    if attempts == 1 {
      do {
        let file = try await dispatcher.download(for: request, to: .resuming(path))
        Issue.record("\(file.bytes) bytes are a whole file")
      } catch { #expect(error.code == .connectionLost) }
    }
    let file = try await dispatcher.download(for: request, to: .resuming(path)).successful()
    #expect(file.bytes == size && ranges.withLock { $0.count } == 2)
    #expect(
      FileManager.default.contents(atPath: path)?.enumerated().allSatisfy { OriginAnswer.patternByte(at: $0) == $1 }
        == true)
    // A transport that collects the body in memory may lose it with the connection.
    if trial.capabilities.contains(.backPressure) {
      #expect(ranges.withLock { $0.last } != .some(nil) && (file.continuedFrom > 0) == (attempts == 1))
    }
    await dispatcher.shutDown()
    // An optimized build releases an object after its last use, and the server with it.
    withExtendedLifetime(origin) {}
  }
}
