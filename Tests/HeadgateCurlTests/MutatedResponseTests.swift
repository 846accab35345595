#if canImport(Glibc)
import Foundation
import Glibc
import HeadgateCurl
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// A server that sends arbitrary responses: `HEADGATE_MUTATIONS` of them, 3,000 by default. In a separate process,
/// whose descriptors and memory are counted; under the address sanitizer in `.ci/run`.
@Suite struct MutatedResponseTests {
  @Test("responses changed at random: every request ends, and nothing is left behind", .timeLimit(.minutes(20)))
  func mutated() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let count = getenv("HEADGATE_MUTATIONS").flatMap { Int(String(cString: $0)) } ?? 3000
      let seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 16
      let problems = try await MutatedResponseTests.run(count, seed: seed)
      for problem in problems { FileHandle.standardError.write(Data("problem: \(problem)\n".utf8)) }
      exit(0)
    }
    let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("problem: ") } == [])
  }

  private static func run(_ count: Int, seed: UInt64) async throws -> [String] {
    // Objects that are made once for the process must exist before the count.
    _ = try await round(min(count, 1000), seed: seed)
    let (descriptors, memory) = (descriptors(), resident())
    var problems = try await round(count, seed: seed + 1)
    // The transport's thread releases its own descriptors a moment after it has reported its end.
    let bound = Deadline.after(.seconds(60))
    while Self.descriptors() > descriptors, .now < bound { usleep(1000) }
    if Self.descriptors() > descriptors { problems.append("\(Self.descriptors()) descriptors, \(descriptors) before") }
    // A sanitizer keeps freed memory for a while.
    let grown = resident() - memory
    if getenv("ASAN_OPTIONS") == nil, getenv("TSAN_OPTIONS") == nil, grown > 24 << 20 {
      problems.append("\(grown >> 20) MiB more than before")
    }
    return problems
  }

  /// Has a server answer a number of requests, each of which must end.
  private static func round(_ count: Int, seed: UInt64) async throws -> [String] {
    let responses = LockedBox(MutatedResponses(seed: seed))
    let server = try RawServer { connection in
      connection.limitSilence()
      while connection.request() != nil {
        let answer = responses.withLock { $0.next() }
        guard connection.send(answer), answer.count % 3 > 0 else { return }
      }
    }
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 8)))
    let url = server.url()
    var request = try DispatchRequest(url)
    request.timeout = .seconds(5)
    let (plain, ended) = (request, LockedBox(0))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        if number >= 16 { await group.next() }
        group.addTask {
          if number % 4 == 0 {
            if let body = try? await dispatcher.stream(for: plain).body { do { for try await _ in body {} } catch {} }
          } else {
            _ = try? await dispatcher.data(for: plain)
          }
          ended.withLock { $0 += 1 }
        }
      }
    }
    await dispatcher.shutDown(.drain)
    let running = dispatcher.gate.counts.running
    server.stop()
    let isGone = server.waitForAll(until: .after(.seconds(60)))
    var problems: [String] = []
    if ended.withLock({ $0 }) != count { problems.append("\(ended.withLock { $0 }) ended of \(count)") }
    if running > 0 { problems.append("\(running) still run") }
    if !isGone { problems.append("connections stay open") }
    return problems
  }

  private static func descriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  private static func resident() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(getpagesize())
  }
}

extension RawServer.Connection {
  /// A client that sends nothing for 20 ms is disconnected.
  fileprivate func limitSilence() {
    var time = timeval(tv_sec: 0, tv_usec: 20_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }
}
#endif
