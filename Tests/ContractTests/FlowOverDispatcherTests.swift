import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The combinators of flow control over the dispatcher's requests, as counted by the origin.
@Suite struct FlowOverDispatcherTests {
  private let origin: Origin
  private let dispatcher: URLDispatcher

  init() throws {
    origin = try Origin()
    // As many as the losers and the winner need, so that later requests prove that their permits are free.
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 3))
    dispatcher = URLDispatcher(transport: try CurlTransport(), limits: limits)
  }

  /// A request that begins when the server holds a given number. A loser cancelled before the server has seen it would
  /// not be counted.
  private func get(_ path: String, after held: Int = 0) throws -> @Sendable () async throws -> Int {
    var request = try DispatchRequest(origin.url(path))
    request.timeout = nil
    request.connectTimeout = nil
    return { [dispatcher, origin, request] in
      _ = await origin.waitUntil({ $0.requests >= held }, until: .after(.seconds(60)))
      return try await dispatcher.data(for: request).body.count
    }
  }

  @Test("all failed: one error contains each, in order")
  func allFailed() async throws {
    let functions = try [get("/reset"), get("/short?declared=10&sent=1"), get("/garbage")]
    let error = await #expect(throws: FlowError.self) { try await firstToSucceed(functions) { try await $0() } }
    #expect(error?.code == .allFailed)
    #expect(
      error?.failures.map { ($0 as? DispatchError)?.code } == [.connectionLost, .connectionLost, .badResponse])
    await dispatcher.shutDown()
  }

  @Test("retry: each attempt is a separate request, and the last error is reported with its type")
  func retries() async throws {
    let reset = try get("/reset")
    let error = await #expect(throws: FlowError.self) { try await retry(attempts: 3, backoff: .none, reset) }
    #expect(error?.code == .attemptsExhausted)
    #expect(
      error?.failures.map { ($0 as? DispatchError)?.code } == [.connectionLost, .connectionLost, .connectionLost])
    #expect(origin.counts().received == 3)
    await dispatcher.shutDown()
  }

  @Test("from threads: several requests by callbacks, blocking; a loser's hook cancels its request")
  func blocking() async throws {
    let (dispatcher, origin) = (dispatcher, origin)
    let count = try await ThreadPool.blocking { () -> Int in
      try waitForTask(until: .after(.seconds(60))) {
        try await firstToSucceed(["/hold", "/bytes/5"]) { path in
          if path != "/hold" { _ = await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))) }
          let request = try DispatchRequest(origin.url(path))
          return try await awaitCallback { completion in
            let operation = dispatcher.dispatch(request) { result in completion(result.map(\.body.count)) }
            completion.onCancel { operation.cancel() }
          }
        }
      }
    }
    #expect(count == 5)
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  // MARK: Every combinator

  /// The inputs of all of them: two requests that the server holds, and one that it answers.
  enum Combinator: String, CaseIterable {
    case firstToSucceed, abandoning, race, quorum, firstMatching, allSucceed, allSettled, mapConcurrently, stream,
      hedged, withDeadline, fixedNumber, retry, sendChunks
  }

  @Test(
    "every combinator: cancelled requests are closed, and their permits free at once: three requests run next",
    arguments: Combinator.allCases)
  func permits(_ combinator: Combinator) async throws {
    let hold = try get("/hold")
    let aborted =
      switch combinator {
      case .retry, .sendChunks: 0
      // Requests that time out may not have reached the server.
      case .withDeadline: 0
      case .fixedNumber: 1
      default: 2
      }
    let answer = try get("/bytes/3", after: aborted)
    let fail = try get("/reset", after: aborted)
    switch combinator {
    case .firstToSucceed:
      #expect(try await firstToSucceed([hold, answer, hold]) { try await $0() } == 3)
    case .abandoning:
      #expect(try await firstToSucceed([hold, answer, hold], losers: .abandon) { try await $0() } == 3)
    case .race:
      #expect(try await race(hold, answer, hold) == 3)
    case .quorum:
      #expect(try await quorum(1, of: [hold, answer, hold]) { try await $0() } == [3])
    case .firstMatching:
      #expect(try await firstMatching([hold, answer, hold], where: { $0 == 3 }) { try await $0() } == 3)
    case .allSucceed:
      let error = await #expect(throws: FlowError.self) {
        try await allSucceed([hold, fail, hold]) { try await $0() }
      }
      // The first failure, with its type.
      #expect(error?.code == .failed)
      let failure = error?.failure as? DispatchError
      #expect(failure?.code == .connectionLost && failure?.endPoint?.host == "127.0.0.1")
    case .allSettled:
      // Here no end of one cancels another: the task cancels.
      let told = Gate()
      let answered = { @Sendable () async throws in
        let count = try await answer()
        told.open()
        return count
      }
      let running = Task { try await allSettled([hold, answered, hold]) { try await $0() } }
      await told.waitInAnyCase()
      #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(.seconds(60))))
      running.cancel()
      await #expect(throws: CancellationError.self) { try await running.value }
    case .mapConcurrently:
      await #expect(throws: FlowError.self) {
        try await [hold, fail, hold].mapConcurrently(limit: 3) { get in try await get() }
      }
    case .stream:
      var iterator = [hold, answer, hold].mapConcurrently(limit: 3, yielding: .asCompleted) {
        get in try await get()
      }
      .makeAsyncIterator()
      #expect(try await iterator.next() == 3)
      _ = consume iterator
    case .hedged:
      let requests = LockedBox([hold, hold, answer])
      #expect(
        try await hedged(after: .milliseconds(1), attempts: 3) { () async throws in
          try await requests.withLock { $0.removeFirst() }()
        } == 3)
    case .withDeadline:
      let error = await #expect(throws: FlowError.self) {
        try await withDeadline(.after(.milliseconds(50)), hold)
      }
      #expect(error?.code == .timedOut)
    case .fixedNumber:
      let text = { @Sendable in "\(try await answer())" }
      let failing = { @Sendable () async throws -> Int in try await fail() }
      await #expect(throws: FlowError.self) { _ = try await allSucceed(hold, text, failing) }
    case .retry:
      let requests = LockedBox([fail, fail, answer])
      #expect(
        try await retry(attempts: 3, backoff: .none) { () async throws in
          try await requests.withLock { $0.removeFirst() }()
        } == 3)
    case .sendChunks:
      let sent = try await sendChunks(ofLength: 25, size: 10) { _ in _ = try await answer()
      }
      #expect(sent == 25)
    }
    #expect(
      try await allSucceed(0..<3) { _ in try await self.get("/bytes/1")() } == [1, 1, 1])
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted >= aborted }, until: .after(.seconds(60))))
    // The server may see the end of a connection before its permit is back, but not the next request.
    #expect(try await get("/bytes/1")() == 1)
    #expect(dispatcher.snapshot().running == 0)
    await dispatcher.shutDown()
  }
}
