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
    // As many as the losers and the winner need: what comes after them shows that their permits are free.
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 3))
    dispatcher = URLDispatcher(transport: try CurlTransport(), limits: limits)
  }

  private func get(_ path: String) throws -> @Sendable () async throws(DispatchError) -> Int {
    var request = try DispatchRequest(origin.url(path))
    request.timeout = nil
    request.connectTimeout = nil
    return { [dispatcher, request] () async throws(DispatchError) in
      try await dispatcher.data(for: request).body.count
    }
  }

  @Test("the first to succeed: losers are cancelled, their connections closed, their permits free at once")
  func firstWins() async throws {
    let winner = try await firstToSucceed(throwing: DispatchError.self, [get("/hold"), get("/hold"), get("/bytes/3")])
    #expect(winner == 3)
    #expect(
      try await allSucceed(throwing: DispatchError.self, [get("/bytes/1"), get("/bytes/1"), get("/bytes/1")]) == [
        1, 1, 1,
      ])
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted == 2 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  @Test("all have to succeed: the first failure comes with its type, and the rest are cancelled")
  func allOrNothing() async throws {
    do throws(FlowError<DispatchError>) {
      _ = try await allSucceed(
        throwing: DispatchError.self,
        [
          try Self.known(get("/hold")), try Self.known(get("/reset")), try Self.known(get("/hold")),
        ])
      Issue.record("a reset connection succeeded")
    } catch {
      #expect(error.code == .failed)
      #expect(error.failure?.code == .connectionLost)
      #expect(error.failure?.endPoint?.host == "127.0.0.1")
    }
    #expect(await origin.waitUntil({ $0.requests == 0 }, until: .after(.seconds(60))))
    #expect(
      try await allSucceed(throwing: DispatchError.self, [get("/bytes/1"), get("/bytes/1"), get("/bytes/1")]) == [
        1, 1, 1,
      ])
    await dispatcher.shutDown()
  }

  // A path that can't be one would be a fault of the test.
  private static func known<Value>(_ make: @autoclosure () throws -> Value) throws(FlowError<DispatchError>) -> Value {
    do { return try make() } catch { preconditionFailure("\(error)") }
  }

  @Test("all failed: one error carries each, in order")
  func allFailed() async throws {
    let functions = try [get("/reset"), get("/short?declared=10&sent=1"), get("/garbage")]
    do throws(FlowError<DispatchError>) {
      _ = try await firstToSucceed(throwing: DispatchError.self, functions)
      Issue.record("something succeeded")
    } catch {
      #expect(error.code == .allFailed)
      #expect(error.failures.map(\.code) == [.connectionLost, .connectionLost, .badResponse])
    }
    await dispatcher.shutDown()
  }

  @Test("retry: each attempt is a request of its own, and the last error is told with its type")
  func retries() async throws {
    let reset = try get("/reset")
    do throws(FlowError<DispatchError>) {
      _ = try await retry(attempts: 3, backoff: .none) { () async throws(DispatchError) in try await reset() }
      Issue.record("a reset connection succeeded")
    } catch {
      #expect(error.code == .attemptsExhausted)
      #expect(error.failures.map(\.code) == [.connectionLost, .connectionLost, .connectionLost])
    }
    #expect(origin.counts().received == 3)
    await dispatcher.shutDown()
  }

  @Test("from threads: all of several by callbacks, blocking; a loser's hook cancels its request")
  func blocking() async throws {
    let (dispatcher, origin) = (dispatcher, origin)
    let outcome = try await ThreadPool.blocking { () -> Result<Int, FlowError<DispatchError>> in
      let functions = ["/hold", "/bytes/5"].map { path -> CallbackFunction<Int, DispatchError> in
        { completion in
          do throws(DispatchError) {
            let operation = dispatcher.dispatchShort(try DispatchRequest(origin.url(path))) { result in
              completion(result.map(\.body.count))
            }
            completion.onCancel { operation.cancel() }
          } catch {
            completion(.failure(error))
          }
        }
      }
      do throws(FlowError<DispatchError>) {
        return .success(try firstToSucceed(until: .after(.seconds(60)), functions))
      } catch {
        return .failure(error)
      }
    }
    #expect(try outcome.get() == 5)
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  // MARK: Every combinator

  /// What all of them are asked to do: two requests that the server holds, and one that it answers.
  enum Combinator: String, CaseIterable {
    case firstToSucceed, race, quorum, firstMatching, allSucceed, allSettled, mapConcurrently, stream, hedged,
      withDeadline, fixedNumber, retry, sendChunks
  }

  @Test(
    "every combinator: whatever it cancels is closed, and its permit is free at once: three requests run next",
    arguments: Combinator.allCases)
  func permits(_ combinator: Combinator) async throws {
    let hold = try get("/hold")
    let answer = try get("/bytes/3")
    let fail = try get("/reset")
    let aborted: Int
    switch combinator {
    case .firstToSucceed:
      #expect(try await firstToSucceed(throwing: DispatchError.self, losers: .abandon, [hold, answer, hold]) == 3)
      aborted = 2
    case .race:
      #expect(try await race(throwing: DispatchError.self, [hold, answer, hold]) == 3)
      aborted = 2
    case .quorum:
      #expect(try await quorum(throwing: DispatchError.self, 1, of: [hold, answer, hold]) == [3])
      aborted = 2
    case .firstMatching:
      #expect(try await firstMatching(throwing: DispatchError.self, [hold, answer, hold]) { $0 == 3 } == 3)
      aborted = 2
    case .allSucceed:
      await #expect(throws: FlowError<DispatchError>.self) {
        try await allSucceed(throwing: DispatchError.self, [hold, fail, hold])
      }
      aborted = 2
    case .allSettled:
      // No end of one cancels another here: what cancels is the task.
      let told = Gate()
      let answered = { @Sendable () async throws(DispatchError) in
        let count = try await answer()
        told.open()
        return count
      }
      let running = Task { try await allSettled(throwing: DispatchError.self, [hold, answered, hold]) }
      await told.wait()
      #expect(await origin.waitUntil({ $0.requests == 2 }, until: .after(.seconds(60))))
      running.cancel()
      #expect(try await running.value.map { (try? $0.get()) ?? 0 } == [0, 3, 0])
      aborted = 2
    case .mapConcurrently:
      await #expect(throws: FlowError<DispatchError>.self) {
        try await [hold, fail, hold].mapConcurrently(limit: 3) { get async throws(DispatchError) in try await get() }
      }
      aborted = 2
    case .stream:
      var iterator = [hold, answer, hold].mapConcurrently(limit: 3, yielding: .asCompleted) {
        get async throws(DispatchError) in try await get()
      }
      .makeAsyncIterator()
      #expect(try await iterator.next() == 3)
      _ = consume iterator
      aborted = 2
    case .hedged:
      let requests = LockedBox([hold, hold, answer])
      #expect(
        try await hedged(after: .milliseconds(1), attempts: 3) { () async throws(DispatchError) in
          try await requests.withLock { $0.removeFirst() }()
        } == 3)
      aborted = 2
    case .withDeadline:
      let error = await #expect(throws: FlowError<DispatchError>.self) {
        try await withDeadline(.after(.milliseconds(50)), hold)
      }
      #expect(error?.code == .timedOut)
      aborted = origin.counts().aborted
    case .fixedNumber:
      let text = { @Sendable () async throws(DispatchError) in "\(try await answer())" }
      let (held, told) = try await firstToSucceed(hold, text)
      #expect(held == nil && told == "3")
      aborted = 1
    case .retry:
      let requests = LockedBox([fail, fail, answer])
      #expect(
        try await retry(attempts: 3, backoff: .none) { () async throws(DispatchError) in
          try await requests.withLock { $0.removeFirst() }()
        } == 3)
      aborted = 0
    case .sendChunks:
      let sent = try await sendChunks(ofLength: 25, size: 10) { _ async throws(DispatchError) in _ = try await answer()
      }
      #expect(sent == 25)
      aborted = 0
    }
    #expect(
      try await allSucceed(throwing: DispatchError.self, [get("/bytes/1"), get("/bytes/1"), get("/bytes/1")]) == [
        1, 1, 1,
      ])
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted >= aborted }, until: .after(.seconds(60))))
    #expect(dispatcher.snapshot().running == 0)
    await dispatcher.shutDown()
  }
}
