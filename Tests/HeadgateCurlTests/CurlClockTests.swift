import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The main purpose of the dispatcher, over sockets, on a clock that the test advances.
@Suite struct CurlClockTests {
  private struct Run {
    let outcomes: [Result<DispatchTimes, DispatchError>]
    let origin: OriginCounts

    var times: [DispatchTimes] { outcomes.compactMap { try? $0.get() } }
    var errors: [DispatchError] {
      outcomes.compactMap { if case .failure(let error) = $0 { error } else { nil } }
    }
  }

  /// Twenty requests, four at a time. The server answers those that it has at the end of each second.
  ///
  /// - Parameter rest: How long the next four run after the last of these seconds.
  private func run(
    seconds: Int, rest: Duration = .zero, _ change: (inout DispatchRequest) -> Void
  ) async throws -> Run {
    let (origin, clock) = (try Origin(), ManualClock())
    defer { origin.stop() }
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 4)), timers: clock)
    var request = try DispatchRequest(origin.url("/hold"))
    request.timeout = nil
    change(&request)
    let (ends, end) = AsyncStream<Result<DispatchTimes, DispatchError>>.makeStream()
    for _ in 0..<20 { dispatcher.dispatch(request) { result in end.yield(result.map(\.times)) } }
    func hasNextFour(after second: Int) async -> Bool {
      await origin.waitUntil(
        { $0.requests == 4 && $0.received == 4 * (second + 1) }, until: .after(.seconds(60)))
    }
    for second in 0..<seconds {
      try #require(await hasNextFour(after: second))
      clock.advance(by: .seconds(1))
      origin.release()
    }
    if rest > .zero {
      try #require(await hasNextFour(after: seconds))
      clock.advance(by: rest)
    }
    var outcomes: [Result<DispatchTimes, DispatchError>] = []
    for await outcome in ends.prefix(20) { outcomes.append(outcome) }
    await dispatcher.shutDown(.drain)
    // The server may notice an end a moment after the client.
    let served = 4 * seconds
    #expect(await origin.waitUntil({ $0.served == served && $0.sockets == 0 }, until: .after(.seconds(60))))
    return Run(outcomes: outcomes, origin: origin.counts())
  }

  @Test("twenty requests of 1 s, four at a time, each with a timeout of 3 s: all succeed, though the last waits 4 s")
  func waitingIsFree() async throws {
    let run = try await run(seconds: 5) { $0.timeout = .seconds(3) }
    #expect(run.errors.isEmpty)
    #expect(run.times.map(\.queued).max() == .seconds(4))
    #expect(run.origin.received == 20)
    #expect(run.origin.peakSockets == 4)
  }

  @Test("the same with a deadline of 2.5 s: eight succeed, four end while running, eight in the queue, never sent")
  func deadline() async throws {
    let run = try await run(seconds: 2, rest: .milliseconds(500)) { $0.deadline = .milliseconds(2500) }
    #expect(run.times.count == 8)
    #expect(run.errors.allSatisfy { $0.code == .deadlineExceeded })
    #expect(run.errors.filter { $0.phase == .waiting }.count == 8)
    #expect(run.errors.filter { $0.phase == .awaitingHead }.count == 4)
    #expect(run.errors.allSatisfy { $0.waited + $0.ran == .milliseconds(2500) })
    #expect(run.origin.received == 12)
  }
}
