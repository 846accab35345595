import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Large bodies, and many of them.
@Suite(.serialized) struct CurlUploadLoadTests {
  #if os(Linux)
  /// Bytes of memory in use by the process.
  private static var resident: Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * 4096
  }

  /// The address sanitizer keeps freed memory to detect later accesses, so memory usage has no meaning with it.
  private static let keepsFreedMemory = dlsym(nil, "__asan_init") != nil

  @Test(
    "200 MB of a file, and of a sequence, need little memory", .enabled(if: !keepsFreedMemory),
    arguments: [true, false])
  func memory(_ isFile: Bool) async throws {
    let folder = try TemporaryFolder()
    let size = 200_000_000
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    let left = LockedBox(size / 100_000)
    let body =
      isFile
      ? RequestBody(file: try folder.sparseFile(of: size))
      : RequestBody(
        AsyncStream {
          let isMore = left.withLock { left in
            left -= 1
            return left >= 0
          }
          return isMore ? [UInt8](repeating: 1, count: 100_000) : nil
        })
    var request = try DispatchRequest(origin.url("/sink"), method: .put, body: body)
    request.timeout = nil
    let before = Self.resident
    let most = LockedBox(0)
    request.onUploadProgress = { _ in most.withLock { $0 = max($0, Self.resident) } }
    #expect(try await dispatcher.data(for: request).text == "\(size)")
    let growth = most.withLock { $0 } - before
    // Holding a hundredth of a second of it would exceed the bound on buffered data.
    #expect(growth < 60_000_000, "\(growth) bytes more")
    #expect(most.withLock { $0 } > 0)
    await dispatcher.shutDown()
  }
  #endif

  @Test("many bodies at once, some cancelled, some broken, some answered early: nothing is left behind")
  func chaos() async throws {
    struct Broken: Error {}
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 6)))
    let folder = try TemporaryFolder()
    let path = try folder.sparseFile(of: 700_000)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<120 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(number))
          let left = LockedBox(Int.random(in: 0...20, using: &random))
          let breaks = number % 7 == 0
          let pieces = AsyncThrowingStream<[UInt8], any Error> {
            let isMore = left.withLock { left in
              left -= 1
              return left >= 0
            }
            if !isMore, breaks { throw Broken() }
            return isMore ? [UInt8](repeating: 1, count: 50_000) : nil
          }
          let body = number % 3 == 0 ? RequestBody(file: path) : RequestBody(pieces)
          let url = origin.url(number % 5 == 0 ? "/early?after=200000" : "/sink")
          guard var request = try? DispatchRequest(url, method: .put, body: body) else { return }
          request.expectsContinue = number % 2 == 0
          let sent = request
          let task = Task { try? await dispatcher.data(for: sent).statusCode }
          if number % 4 == 0 {
            for _ in 0..<Int.random(in: 0...200, using: &random) { await Task.yield() }
            task.cancel()
          }
          _ = await task.value
        }
      }
    }
    #expect(await origin.waitUntil({ $0.requests == 0 }, until: .after(.seconds(60))))
    #expect(origin.counts().peakRequests <= 6)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    // The caller of a cancelled request is told before its permit is back.
    await dispatcher.shutDown()
    #expect(dispatcher.gate.counts.running == 0)
  }
}
