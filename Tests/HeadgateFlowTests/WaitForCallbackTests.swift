import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// A callback function as a blocking call, and as an async one.
@Suite struct WaitForCallbackTests {
  // MARK: Blocking

  @Test("P90 answered at once on the calling thread, and later on another one")
  func answered() async throws {
    let value = try await onThread { () throws in
      try waitForCallback { (completion: Completion<Int>) in completion.succeed(1) }
    }
    #expect(value == 1)

    let hand = Hand<Int>()
    let waiting = try startThread { try waitForCallback(until: generous, hand.function(0)) }
    await hand.started.wait(for: 1)
    hand.succeed(0, 2)
    #expect(try await waiting.value().get() == 2)
  }

  @Test("A failure is thrown unchanged")
  func failed() async throws {
    let result = try await onThread {
      Result { try waitForCallback { (completion: Completion<Int>) in completion.fail(Oops(number: 3)) } }
    }
    #expect(error(of: result) as? Oops == Oops(number: 3))
  }

  @Test("An answer that is available when the deadline has passed counts; a past deadline still calls the function")
  func answeredAtDeadline() async throws {
    let value = try await onThread {
      try waitForCallback(until: .distantPast) { (completion: Completion<Int>) in completion.succeed(1) }
    }
    #expect(value == 1)
  }

  @Test("P93 cancelling the blocked thread ends the wait and runs the hooks")
  func threadCancelled() async throws {
    let hand = Hand<Int>()
    let waiting = try startThread { try waitForCallback(until: generous, hand.function(0)) }
    await hand.started.wait(for: 1)
    waiting.cancel()
    let result = try await waiting.value()
    #expect(code(of: result) == .cancelled)
    #expect(hand.cancelled.events == [0])
    hand.drop(0)
  }

  @Test("P97 in a task on a cooperative thread it throws instead of blocking, and calls nothing")
  func cooperative() async {
    let hand = Hand<Int>()
    let code = flowCode { try Self.blocking { try waitForCallback(hand.function(0)) } }
    #expect(code == .onCooperativeThread)
    #expect(hand.started.events.isEmpty)
  }

  @Test("P97 on a loop that would have to deliver: refused at the start, or as soon as the function reports it")
  func loop() async throws {
    let loop = try ThreadLoop(name: "deliver")
    let other = try ThreadLoop(name: "other")
    let hand = Hand<Int>()
    let outcomes = try await loop.performAndWait { Self.waits(on: loop, beside: other, hand) }
    #expect(outcomes == ["would_deadlock", "started []", "would_deadlock", "cancelled [1]", "4"])
    hand.drop(1)
    loop.stop()
    other.stop()
  }

  /// On the loop's thread.
  private static func waits(on loop: ThreadLoop, beside other: ThreadLoop, _ hand: Hand<Int>) -> [String] {
    let known = flowCode { try waitForCallback(calledOn: .loop(loop), hand.function(0)) }
    let started = hand.started.events
    let told = flowCode {
      try waitForCallback { (completion: Completion<Int>) in
        hand.function(1)(completion)
        completion.answers(on: .loop(loop))
      }
    }
    // Delivery on another loop is no reason.
    let delivered = flowValue {
      try waitForCallback(until: generous) { (completion: Completion<Int>) in
        completion.answers(on: .loop(other)).succeed(4)
      }
    }
    return [
      "\(known?.description ?? "-")", "started \(started)", "\(told?.description ?? "-")",
      "cancelled \(hand.cancelled.events)", "\(delivered ?? 0)",
    ]
  }

  @Test("P97 a refused wait says so, even if the function's cancel hook answers, and its success is discarded")
  func refusedWithAnAnswer() async throws {
    let loop = try ThreadLoop(name: "waiting")
    let discarded = Record<Int>()
    let codes = try await loop.performAndWait {
      [Result<Int, Oops>.failure(.cancelled), .success(5)].map { answer in
        flowCode {
          try waitForCallback(discard: { discarded.add($0) }) { (completion: Completion<Int>) in
            completion.onCancel { completion(answer) }
            completion.answers(on: .loop(loop))
          }
        }
      }
    }
    #expect(codes == [.wouldDeadlock, .wouldDeadlock])
    #expect(discarded.events == [5])
    loop.stop()
  }

  @Test("P97 on the only thread of a pool that would have to deliver: refused; with two threads it is not")
  func pool() async throws {
    let one = try ThreadPool(name: "one", size: 1)
    let two = try ThreadPool(name: "two", size: 2)
    let refused = try one.submit {
      flowCode { try waitForCallback(calledOn: .pool(one)) { (_: Completion<Int>) in } }
    }
    #expect(try await refused.value == .wouldDeadlock)
    let delivered = try two.submit {
      flowValue {
        try waitForCallback(until: generous) { (completion: Completion<Int>) in
          completion.answers(on: .pool(two)).succeed(2)
        }
      }
    }
    #expect(try await delivered.value == 2)
    one.dispose()
    two.dispose()
  }

  // MARK: Async

  @Test("The async form: at once, later, a failure, released")
  func suspended() async throws {
    #expect(try await awaitCallback { (completion: Completion<Int>) in completion.succeed(1) } == 1)
    let hand = Hand<Int>()
    async let later = awaitCallback(hand.function(0))
    await hand.started.wait(for: 1)
    hand.succeed(0, 2)
    #expect(try await later == 2)
    await #expect(throws: Oops()) {
      try await awaitCallback { (completion: Completion<Int>) in completion.fail(Oops()) }
    }
    let error = await #expect(throws: FlowError.self) {
      _ = try await awaitCallback { (_: Completion<Int>) in }
    }
    #expect(error?.code == .completionReleased)
  }

  @Test("P93 the async form returns at once when its task is cancelled, though the function ignores it; it is counted")
  func taskCancelled() async throws {
    let hand = Hand<Int>()
    let discarded = Record<Int>()
    let waiting = Task { try await awaitCallback(discard: { discarded.add($0) }, hand.function(0)) }
    await hand.started.wait(for: 1)
    waiting.cancel()
    #expect(code(of: await waiting.result) == .cancelled)
    #expect(hand.cancelled.events == [0])
    #expect(Losers.abandonedCount >= 1)
    hand.succeed(0, 1)
    #expect(discarded.events == [1])
  }

  @Test("P93 in a cancelled task nothing is called")
  func cancelledBefore() async {
    let hand = Hand<Int>()
    let start = Gate()
    let waiting = Task {
      await start.waitRegardless()
      return try await awaitCallback(hand.function(0))
    }
    waiting.cancel()
    start.open()
    #expect(code(of: await waiting.result) == .cancelled)
    #expect(hand.started.events.isEmpty)
  }

  @Test("The async form ends at its deadline, by the given clock")
  func deadline() async throws {
    let (clock, hand) = (ManualClock(), Hand<Int>())
    let waiting = Task {
      try await awaitCallback(until: clock.now + .seconds(3), on: clock, discard: nil, hand.function(0))
    }
    try await clock.timers(1)
    clock.advance(by: .seconds(3))
    #expect(code(of: await waiting.result) == .timedOut)
    #expect(hand.cancelled.events == [0])
    hand.drop(0)
  }

  @Test("Joined: a cancelled wait continues until the function has answered; its success is the result")
  func joined() async throws {
    for succeeds in [true, false] {
      let hand = Hand<Int>()
      let waiting = Task { try await awaitCallback(losers: .join, hand.function(0)) }
      await hand.started.wait(for: 1)
      waiting.cancel()
      await hand.cancelled.wait(for: 1)
      if succeeds { hand.succeed(0, 5) } else { hand.fail(0) }
      let result = await waiting.result
      #expect(succeeds ? (try? result.get()) == 5 : code(of: result) == .cancelled)
    }
    let (clock, hand, discarded) = (ManualClock(), Hand<Int>(), Record<Int>())
    let late = Task {
      try await awaitCallback(
        until: clock.now + .seconds(3), losers: .join, on: clock, discard: { discarded.add($0) }, hand.function(0))
    }
    try await clock.timers(1)
    clock.advance(by: .seconds(3))
    await hand.cancelled.wait(for: 1)
    hand.succeed(0, 6)
    #expect(code(of: await late.result) == .timedOut && discarded.events == [6])
  }

  @Test("A hundred thousand calls one after another need no more than one")
  func many() async throws {
    var sum = 0
    for number in 0..<100_000 {
      sum += try await awaitCallback { (completion: Completion<Int>) in completion.succeed(number) }
    }
    #expect(sum == 4_999_950_000)
  }

  /// A blocking call in async code, as a program might make through a synchronous function.
  private static func blocking<Value>(_ body: () throws -> Value) throws -> Value { try body() }
}
