import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The waits of HeadgateTesting, in a test whose time limit has cancelled it.
@Suite struct TestingWaitTests {
  /// The error of a wait whose task is cancelled.
  private func complaint(_ wait: @escaping @Sendable () async throws -> Void) async -> String {
    let task = Task { try await wait() }
    task.cancel()
    do {
      try await task.value
      return "it has returned"
    } catch {
      return "\(error)"
    }
  }

  @Test("a wait for timers ends with its task, and says how many are set")
  func timers() async {
    let clock = ManualClock()
    _ = clock.schedule(at: clock.now + .seconds(1)) {}
    #expect(await complaint { try await clock.timers(2) }.hasPrefix("wait for at least 2 timers (1 are set): "))
    #expect(await complaint { try await clock.timers(atMost: 0) }.hasPrefix("wait for at most 0 timers (1 are set): "))
    // Without a wait, a cancelled task passes.
    #expect(await complaint { try await clock.timers(1) } == "it has returned")
  }

  @Test("a wait for an exchange ends with its task, and leaves the next exchange to the next wait")
  func exchanges() async throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try bench.request("/1"), into: responses)
    let first = try await bench.transport.next()
    let complaint = await complaint { _ = try await bench.transport.next() }
    #expect(complaint.hasPrefix("wait for the next exchange (1 were started, 1 of them run): "))
    bench.send(try bench.request("/2"), into: responses)
    try await bench.transport.next().respond()
    first.respond()
    #expect(bench.isClean())
  }

  @Test("a wait for a gate ends with its task, and says which gate it is")
  func gates() async {
    let (gate, line) = (Gate(), #line)
    #expect(await complaint { try await gate.wait() }.contains("the gate of \(#fileID):\(line): "))
    #expect(!gate.isOpen)
    gate.open()
    #expect(await complaint { try await gate.wait() } == "it has returned")
  }

  @Test("a wait for a body's bytes, a cancellation and a resumption ends with its task, and says so")
  func exchange() async throws {
    let bench = try Bench()
    let never = Gate()
    let pieces = PieceSource { _ in
      await never.waitRegardless()
      return nil
    }
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody(pieces.sequence)
    let operation = bench.send(request, into: Responses())
    let exchange = try await bench.transport.next()
    let next = await complaint { _ = try await exchange.nextBody() }
    let rest = await complaint { _ = try await exchange.restOfBody() }
    for text in [next, rest] { #expect(text.hasPrefix("wait for the next bytes of the request's body: ")) }
    let cancelled = await complaint { try await exchange.cancelled.wait() }
    #expect(cancelled.hasPrefix("wait for the cancellation of an exchange: "))
    let resumed = await complaint { try await exchange.resumed.wait() }
    #expect(resumed.hasPrefix("wait for the resumption of an exchange: "))
    operation.cancel()
    never.open()
    #expect(bench.isClean())
  }
}
