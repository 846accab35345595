import Foundation
import Headgate
import HeadgateOrigin
import Testing

/// Downloads a file, or the rest of one that an earlier call or an earlier process has begun.
func fetch(_ url: String, to path: String, sha256 digits: String, over dispatcher: URLDispatcher) async throws {
  var request = try DispatchRequest(url)
  request.retry = RetryPolicy(attempts: 5)
  request.minimumSpeed = TransferSpeed(bytesPerSecond: 1000, over: .seconds(30))
  let file = try await dispatcher.download(for: request, to: .resuming(path), checksum: .sha256(digits)).successful()
  print(file.bytes, "bytes,", file.continuedFrom, "of them from before")
}

/// The recipe for a download that resumes.
@Suite struct RecipeDownloadTests {
  private static let digits = "a73f8bba15e2adf7c3399611400152fd92bf5114268cc48ef95d3e1765be5742"

  @Test("a download that broke off goes on in a later run, and is compared")
  func resumes() async throws {
    let server = try Origin(script: Self.script(hasRanges: false))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (url, path) = (server.url("/a"), folder.appendingPathComponent("a").path)
    let first = try URLDispatcher()
    await #expect(throws: StatusError.self) { try await fetch(url, to: path, sha256: Self.digits, over: first) }
    await first.shutDown()
    #expect(!FileManager.default.fileExists(atPath: path))
    server.setScript(Self.script(hasRanges: true))
    let second = try URLDispatcher()
    try await fetch(url, to: path, sha256: Self.digits, over: second)
    await second.shutDown()
    #expect(FileManager.default.contents(atPath: path)?.count == 700_000)
  }

  /// The whole body breaks off after 300,000 bytes. The rest can be had on the second day only.
  private static func script(hasRanges: Bool) -> OriginScript {
    OriginScript { request in
      var answer = OriginAnswer.truncated(declared: 700_000, sent: 300_000)
      if request.header("Range") != nil {
        guard hasRanges else { return .text("not now", status: 404) }
        answer = .bytes((300_000..<700_000).map { OriginAnswer.patternByte(at: $0) }, status: 206)
        answer.headers = [OriginHeader("Content-Range", "bytes 300000-699999/700000")]
      }
      answer.headers.append(OriginHeader("ETag", "\"1\""))
      return answer
    }
  }
}
