import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Everything at once, from many tasks, with faults of every kind; the server counts. `make soak` runs it for minutes.
@Suite struct CurlChaosTests {
  private static let highestLimit = 6

  @Test("chaos: the server never counts more than the limit, everything ends once, and nothing is left")
  func chaos() async throws {
    let seconds = getenv("HEADGATE_CHAOS_SECONDS").flatMap { Int64(String(cString: $0)) } ?? 2
    let end = Deadline.after(.seconds(seconds))
    let origin = try Origin(endPoints: 10)
    let transport = try CurlTransport()
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: Self.highestLimit), total: 40, waiting: 500, overflow: .wait)
    // The record of a long soak would fill the memory.
    let recording = RecordingObserver()
    let dispatcher = URLDispatcher(transport: transport, limits: limits, observers: seconds > 20 ? [] : [recording])
    let submitted = LockedBox(0)
    let ended = LockedBox(0)

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(number))
          // At least a few, however late the task gets its turn: none would prove nothing.
          var played = 0
          while played < 20 || .now < end {
            played += 1
            submitted.withLock { $0 += 1 }
            await Self.one(dispatcher, origin, &random)
            ended.withLock { $0 += 1 }
          }
        }
      }
      group.addTask {
        var random = SeededRandom(seed: 1_000)
        while .now < end {
          let place = Int.random(in: 0..<10, using: &random)
          if let endPoint = try? EndPoint(host: "127.0.0.1", port: Int(origin.ports[place])),
            let limit = try? EndPointLimits(requests: Int.random(in: 1...Self.highestLimit, using: &random))
          {
            dispatcher.setLimits(limit, for: endPoint)
          }
          _ = try? await dispatcher.data(for: origin.url("/delay/5", endPoint: place))
        }
      }
    }

    #expect(submitted.withLock { $0 } == ended.withLock { $0 })
    #expect(dispatcher.gate.counts.waiting == 0)
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.gate.counts.running == 0)
    #expect(recording.violations == [])
    #expect(recording.unfinished == 0)
    #expect(dispatcher.gate.counts.endPoints == 0)
    for place in 0..<10 {
      #expect(origin.counts(endPoint: place).peakSockets <= Self.highestLimit)
      #expect(origin.counts(endPoint: place).peakRequests <= Self.highestLimit)
      #expect(await origin.waitUntil({ $0.sockets == 0 }, endPoint: place, until: .after(.seconds(60))))
      #expect(transport.openSockets(to: try EndPoint(host: "127.0.0.1", port: Int(origin.ports[place]))) == 0)
    }
    print("chaos: \(ended.withLock { $0 }) requests in \(seconds) s")
    origin.stop()
  }

  /// One random request: any path, any form, any limit on time, perhaps cancelled.
  private static func one(_ dispatcher: URLDispatcher, _ origin: Origin, _ random: inout SeededRandom) async {
    let place = Int.random(in: 0..<10, using: &random)
    let paths = [
      "/", "/bytes/100", "/bytes/300000", "/status/404", "/status/503", "/delay/3", "/reset", "/reset?after=50000",
      "/short?declared=5000&sent=100", "/close", "/garbage", "/gzip?bytes=50000", "/headers?bytes=5000",
      "/stream?chunks=5&every=1&size=1000", "/silence", "/trickle?bytes=20&every=1",
      "/redirect?to=" + origin.url("/bytes/10", endPoint: Int.random(in: 0..<10, using: &random)),
      "/redirect?size=80000&to=" + origin.url("/delay/2", endPoint: Int.random(in: 0..<10, using: &random)),
    ]
    guard var request = try? DispatchRequest(origin.url(paths.randomElement(using: &random) ?? "/", endPoint: place))
    else {
      Issue.record("no request")
      return
    }
    request.timeout = .milliseconds(Int.random(in: 5...300, using: &random))
    if Bool.random(using: &random) { request.deadline = .milliseconds(Int.random(in: 1...600, using: &random)) }
    let prepared = request
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      let response = try? await dispatcher.stream(for: prepared, class: Bool.random(using: &random) ? .long : .short)
      if Bool.random(using: &random) { _ = try? await response?.body.collect(upTo: 1 << 20) }
    case 1:
      let task = Task { try await dispatcher.data(for: prepared) }
      if Bool.random(using: &random) { await Task.yield() }
      task.cancel()
      _ = await task.result
    case 2:
      let answers = LockedBox(0)
      let ended = Gate()
      let operation = dispatcher.dispatchShort(prepared) { _ in
        answers.withLock { $0 += 1 }
        ended.open()
      }
      if Bool.random(using: &random) { operation.cancel() }
      await ended.wait()
      #expect(answers.withLock { $0 } == 1)
    default:
      _ = try? await dispatcher.data(for: prepared)
    }
  }
}
