import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

/// Tests with real seconds: the main purpose of the dispatcher.
@Suite struct CurlClockTests {
  private struct Run {
    /// How long it took to submit all requests.
    let span: Duration
    let outcomes: [DispatchError?]
    let origin: OriginCounts
  }

  private func run(served: Int, _ change: (inout DispatchRequest) -> Void) async throws -> Run {
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 4)))
    var request = try DispatchRequest(origin.url("/delay/1000"))
    request.timeout = nil
    change(&request)
    let (ends, end) = AsyncStream<DispatchError?>.makeStream()
    let start = Deadline.now
    for _ in 0..<20 {
      dispatcher.dispatchShort(request) { result in
        if case .failure(let error) = result { end.yield(error) } else { end.yield(nil) }
      }
    }
    let span = Deadline.now - start
    var outcomes: [DispatchError?] = []
    for await outcome in ends.prefix(20) { outcomes.append(outcome) }
    await dispatcher.shutDown(.drain)
    defer { origin.stop() }
    // The server may notice an end a moment after the client.
    #expect(await origin.waitUntil({ $0.served == served && $0.sockets == 0 }, until: .after(.seconds(60))))
    return Run(span: span, outcomes: outcomes, origin: origin.counts())
  }

  @Test("twenty requests of 1 s, four at a time, each with a timeout of 3 s: all succeed, though the last waits 4 s")
  func waitingIsFree() async throws {
    let run = try await run(served: 20) { $0.timeout = .seconds(3) }
    #expect(run.outcomes.allSatisfy { $0 == nil })
    #expect(run.origin.received == 20)
    #expect(run.origin.peakSockets == 4)
  }

  @Test("the same with a deadline of 2.5 s: eight succeed, four end while running, eight in the queue, never sent")
  func deadline() async throws {
    var run = try await run(served: 8) { $0.deadline = .milliseconds(2500) }
    // A request may still start up to 10 ms before its deadline. If the machine delayed the submissions so that the
    // deadlines lie farther apart, this check does not apply.
    for _ in 0..<10 where run.span >= .milliseconds(10) {
      run = try await self.run(served: 8) { $0.deadline = .milliseconds(2500) }
    }
    try #require(run.span < .milliseconds(10))
    let errors = run.outcomes.compactMap { $0 }
    #expect(run.outcomes.count - errors.count == 8)
    #expect(errors.allSatisfy { $0.code == .deadlineExceeded })
    #expect(errors.filter { $0.phase == .waiting }.count == 8)
    #expect(errors.filter { $0.phase == .awaitingHead }.count == 4)
    // Never early, and late only by what a busy machine explains.
    #expect(errors.allSatisfy { $0.waited + $0.ran >= .milliseconds(2500) && $0.waited + $0.ran < .milliseconds(3400) })
    #expect(run.origin.received == 12)
    #expect(run.origin.received == 8)
  }
}
