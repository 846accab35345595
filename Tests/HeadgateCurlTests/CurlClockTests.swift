import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

/// The one place where real seconds pass: what the dispatcher was made for.
@Suite struct CurlClockTests {
  private func run(
    served: Int, _ change: (inout DispatchRequest) -> Void
  ) async throws -> (outcomes: [DispatchError?], origin: OriginCounts) {
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 4)))
    var request = try DispatchRequest(origin.url("/delay/1000"))
    request.timeout = nil
    change(&request)
    let prepared = request
    let outcomes = await withTaskGroup(of: DispatchError?.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do throws(DispatchError) { _ = try await dispatcher.data(for: prepared) } catch { return error }
          return nil
        }
      }
      return await group.reduce(into: [DispatchError?]()) { $0.append($1) }
    }
    await dispatcher.shutDown(.drain)
    defer { origin.stop() }
    // The server may learn of an end a moment after the client.
    #expect(await origin.waitUntil({ $0.served == served && $0.sockets == 0 }, until: .after(.seconds(60))))
    return (outcomes, origin.counts())
  }

  @Test("twenty requests of 1 s, four at a time, each with a time-out of 3 s: all succeed, though the last waits 4 s")
  func waitingIsFree() async throws {
    let (outcomes, counts) = try await run(served: 20) { $0.timeout = .seconds(3) }
    #expect(outcomes.allSatisfy { $0 == nil })
    #expect(counts.served == 20)
    #expect(counts.peakSockets == 4)
  }

  @Test("the same with a deadline of 2.5 s: eight succeed, four end while running, eight in the queue, never sent")
  func deadline() async throws {
    let (outcomes, counts) = try await run(served: 8) { $0.deadline = .milliseconds(2500) }
    let errors = outcomes.compactMap { $0 }
    #expect(outcomes.count - errors.count == 8)
    #expect(errors.allSatisfy { $0.code == .deadlineExceeded })
    #expect(errors.filter { $0.phase == .waiting }.count == 8)
    #expect(errors.filter { $0.phase == .awaitingHead }.count == 4)
    // Never early, and late by no more than a busy machine explains.
    #expect(errors.allSatisfy { $0.waited + $0.ran >= .milliseconds(2500) && $0.waited + $0.ran < .milliseconds(3400) })
    #expect(counts.received == 12)
    #expect(counts.served == 8)
  }
}
