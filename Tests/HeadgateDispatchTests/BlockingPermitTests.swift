import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Permits for threads.
@Suite struct BlockingPermitTests {
  private let clock = ManualClock()
  private let gate: EndPointGate
  private let endPoint: EndPoint

  init() throws {
    gate = EndPointGate(
      limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: clock, logger: .silent)
    endPoint = try EndPoint(host: "blocking.example", port: 1)
  }

  private func code(_ body: () throws -> Void) -> DispatchError.Code? {
    do { try body() } catch { return (error as? DispatchError)?.code }
    return nil
  }

  @Test("a thread works while it holds a permit, one after another, and releases it with any outcome")
  func oneAfterAnother() async throws {
    let held = try await gate.permit(for: endPoint)
    let inside = Outcomes<Int>()
    let threads = try (0..<8).map { number in
      try ManagedThread.spawn(name: "worker") { [gate, endPoint] in
        try gate.withPermit(for: endPoint, until: .distantFuture) {
          inside.add(gate.counts.running)
          if number % 2 == 0 { throw DispatchError(.badResponse) }
          return number
        }
      }
    }
    while gate.counts.waiting < 8 { await Task.yield() }
    #expect(inside.count == 0)
    held.release()
    var results: [Int] = []
    for thread in threads { if let number = try? await thread.value() { results.append(number) } }
    #expect(results == [1, 3, 5, 7])
    #expect(inside.values == Array(repeating: 1, count: 8))
    #expect((gate.counts.running, gate.counts.waiting) == (0, 0))
  }

  @Test("a thread waits no longer than its deadline; a deadline in the past ends it at once")
  func deadline() async throws {
    let held = try await gate.permit(for: endPoint)
    let waiting = try ManagedThread.spawn(name: "worker") { [gate, endPoint, clock] in
      try gate.permit(for: endPoint, until: clock.now + .seconds(5)).release()
    }
    try await clock.timers(1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: (any Error).self) { try await waiting.value() }
    let cause = (error as? any HeadgateError)?.underlyingError as? DispatchError
    #expect((cause?.code, cause?.waited) == (.deadlineExceeded, .seconds(5)))
    held.release()
    let late = try ManagedThread.spawn(name: "late") { [gate, endPoint, clock] in
      try gate.permit(for: endPoint, until: clock.now).release()
    }
    let other = await #expect(throws: (any Error).self) { try await late.value() }
    #expect(((other as? any HeadgateError)?.underlyingError as? DispatchError)?.code == .deadlineExceeded)
    #expect((gate.counts.running, gate.counts.waiting, clock.pendingCount) == (0, 0, 0))
  }

  @Test("a thread that is cancelled while it waits leaves the queue, and no permit is lost")
  func cancelled() async throws {
    for _ in 0..<200 {
      let held = try await gate.permit(for: endPoint)
      let waiting = try ManagedThread.spawn(name: "worker") { [gate, endPoint] in
        try gate.permit(for: endPoint, until: .distantFuture).release()
      }
      while gate.counts.waiting < 1 { await Task.yield() }
      // At the same moment as the permit is granted. Either may come first.
      let releaser = try WorkerThread(name: "releaser") { held.release() }
      waiting.cancel()
      releaser.join()
      _ = try? await waiting.value()
      while gate.counts.running > 0 { await Task.yield() }
      #expect(gate.counts.waiting == 0)
    }
  }

  @Test("blocking for a permit is refused inside a task and inside a callback of the gate")
  func wouldBlock() async throws {
    func inTask() -> DispatchError.Code? { code { try gate.withPermit(for: endPoint, until: .distantFuture) {} } }
    #expect(inTask() == .wouldBlock)
    let codes = Outcomes<DispatchError.Code?>()
    let asked = try WorkerThread(name: "asker") { [self] in
      gate.requestPermit(for: endPoint) { result in
        codes.add(code { try gate.withPermit(for: endPoint, until: .distantFuture) {} })
        _ = try? result.get().release()
      }
    }
    asked.join()
    #expect(codes.values == [.wouldBlock])
    #expect(gate.counts.running == 0)
  }
}
