import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// The combinators over callback functions: blocking, and as callback functions themselves.
@Suite struct CallbackContestTests {
  typealias Function = CallbackFunction<Int, Oops>

  typealias Form = CallbackForm<Int>
  static let forms = Form.all { $0 >= 0 }
  static let losers: [Losers] = [.join, .abandon]

  private static func number(_ number: Int) -> Function { { $0.succeed(number) } }
  private static func failing(_ number: Int) -> Function { { $0.fail(Oops(number: number)) } }

  /// Starts it as a callback function; what it comes to goes to a record.
  private static func start(
    _ form: Form, _ losers: Losers, _ functions: [Function], discard: (@Sendable (Int) -> Void)? = nil,
    atMost: Int = .max
  ) -> (ends: Record<Result<[Int], FlowError<FlowError<Oops>>>>, started: StartedCallback) {
    let ends = Record<Result<[Int], FlowError<FlowError<Oops>>>>()
    let started = startCallback(form.function(atMost, losers, discard, functions)) { ends.add($0) }
    return (ends, started)
  }

  private static func error(_ result: Result<[Int], FlowError<FlowError<Oops>>>?) -> FlowError<Oops>? {
    if case .failure(let error)? = result { error.failure } else { nil }
  }

  @Test("P94 without functions: an empty result where that is one, else noInput", arguments: forms)
  func empty(_ form: Form) async throws {
    let hasResult = !["firstToSucceed", "race", "firstMatching"].contains(form.name)
    let (code, values) = try await onThread { () -> (FlowErrorCode?, [Int]?) in
      do throws(FlowError<Oops>) { return (nil, try form.block(.max, .join, generous, nil, [])) } catch {
        return (error.code, nil)
      }
    }
    #expect(code == (hasResult ? nil : .noInput))
    #expect(values == (hasResult ? [] : nil))
    let (ends, _) = Self.start(form, .join, [])
    #expect(ends.events.count == 1)
    #expect(Self.error(ends.events.first)?.code == (hasResult ? nil : .noInput))
  }

  @Test("One function: its success, its failure, let go of", arguments: forms, losers)
  func one(_ form: Form, _ losers: Losers) async throws {
    let values = try await onThread { try form.block(.max, losers, generous, nil, [Self.number(7)]) }
    #expect(values == [7])
    let (ends, _) = Self.start(form, losers, [Self.failing(3)])
    #expect(Self.error(ends.events.first)?.failures == [Oops(number: 3)])
    let (silent, _) = Self.start(form, losers, [{ _ in }])
    #expect(silent.events.count == 1)
    let code = Self.error(silent.events.first)?.code
    #expect(code == (form.name == "firstToSucceed" ? .allFailed : form.name == "quorum" ? .quorumMissed : .unanswered))
  }

  @Test("A limit of less than one is refused, and nothing is called", arguments: forms)
  func badLimit(_ form: Form) async throws {
    let hand = Hand<Int>()
    let code = try await codeOnThread { () throws(FlowError<Oops>) in
      try form.block(0, .join, generous, nil, hand.functions(2))
    }
    #expect(code == .invalidArgument)
    #expect(hand.started.events.isEmpty)
  }

  @Test(
    "P98 a hundred thousand functions that answer inside their starts, one at a time, need the stack of one",
    arguments: forms)
  func many(_ form: Form) async throws {
    let count = 100_000
    // A stack that a recursion of so many would overflow at once.
    let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
      Result { () throws(FlowError<Oops>) in
        try form.block(1, .join, generous, nil, (0..<count).map { Self.number($0) })
      }
    }
    let values = try await thread.value().get()
    let isOne = ["firstToSucceed", "race", "firstMatching"].contains(form.name)
    #expect(isOne ? values == [0] : values == Array(0..<count))
  }

  @Test("P98 a hundred thousand failures one after another, and a hundred thousand at a time")
  func manyFailures() async throws {
    let count = 100_000
    for atMost in [1, Int.max] {
      let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
        flowCode { () throws(FlowError<Oops>) in
          try firstToSucceed(atMost: atMost, until: generous, (0..<count).map { Self.failing($0) })
        }
      }
      #expect(try await thread.value() == .allFailed)
    }
  }

  @Test("P90 one answers twice: the second answer takes nobody else's place")
  func twice() {
    let (ends, _) = Self.start(
      Self.forms[1], .join,
      [
        { completion in
          completion.succeed(1)
          completion.succeed(2)
        }, Self.number(3),
      ])
    #expect((try? ends.events.first?.get()) == [1, 3])
  }

  @Test("P91 all fail: one error that carries each in the order of the functions")
  func allFail() {
    let hand = Hand<Int>()
    let (ends, _) = Self.start(Self.forms[0], .join, hand.functions(4))
    for number in [3, 0, 1] { hand.fail(number) }
    #expect(ends.events.isEmpty)
    hand.drop(2)
    let error = Self.error(ends.events.first)
    #expect(error?.code == .allFailed)
    #expect(error?.failures == [0, 1, 3].map { Oops(number: $0) })
    #expect(error?.inputs == [0, 1, 3])
  }

  @Test(
    "P92 the first success wins; join waits for the losers' answers, abandon does not; late successes are discarded")
  func firstWins() {
    for losers in Self.losers {
      let (hand, discarded) = (Hand<Int>(), Record<Int>())
      let (ends, _) = Self.start(Self.forms[0], losers, hand.functions(3), discard: { discarded.add($0) })
      hand.succeed(1, 10)
      #expect(hand.cancelled.events.sorted() == [0, 2])
      #expect(ends.events.count == (losers == .abandon ? 1 : 0))
      hand.succeed(0, 0)
      hand.fail(2)
      #expect(ends.events.count == 1)
      #expect((try? ends.events.first?.get()) == [10])
      #expect(discarded.events == [0])
    }
  }

  @Test("P92 results that must be destroyed: none outlives its use")
  func destroyed() async throws {
    let census = Census()
    for losers in Self.losers {
      let hand = Hand<Census.Token>()
      let waiting = try startThread {
        try firstToSucceed(losers: losers, until: generous, hand.functions(3)).number
      }
      await hand.started.wait(for: 3)
      hand.succeed(1, census.token(1))
      hand.succeed(0, census.token(0))
      hand.succeed(2, census.token(2))
      #expect(try await waiting.value().get() == 1)
    }
    #expect(census.alive == 0)
  }

  @Test("P95 an error thrown in a cancel hook stops neither the others nor the result", arguments: forms, losers)
  func throwingHook(_ form: Form, _ losers: Losers) {
    let (hand, ran) = (Hand<Int>(), Record<Int>())
    let functions: [Function] = (0..<3).map { number in
      { completion in
        completion.onCancel {
          ran.add(number)
          throw Oops(number: number)
        }
        hand.function(number)(completion)
      }
    }
    let (ends, started) = Self.start(form, losers, functions)
    started.cancel()
    #expect(ran.events == [0, 1, 2])
    #expect(hand.cancelled.events == [0, 1, 2])
    for number in 0..<3 { hand.fail(number) }
    #expect(ends.events.count == 1)
    #expect(Self.error(ends.events.first)?.code == .cancelled || form.name == "allSettled")
  }

  @Test("Hooks that answer inside the cancellation: everything still ends once", arguments: forms, losers)
  func answeringHooks(_ form: Form, _ losers: Losers) {
    let kept = Record<Completion<Int, Oops>>()
    let functions: [Function] = (0..<3).map { number in
      { completion in
        kept.add(completion)
        completion.onCancel { completion.fail(Oops(number: number)) }
      }
    }
    let (ends, started) = Self.start(form, losers, functions)
    started.cancel()
    #expect(ends.events.count == 1)
  }

  // MARK: Ends from outside

  @Test("P93 cancelled at every step: before any end, after each of them", arguments: forms, losers)
  func cancelled(_ form: Form, _ losers: Losers) {
    for step in 0..<3 {
      let (hand, discarded) = (Hand<Int>(), Record<Int>())
      let (ends, started) = Self.start(form, losers, hand.functions(4), discard: { discarded.add($0) }, atMost: 2)
      for number in 0..<step where form.name != "race" {
        if form.name == "firstToSucceed" || form.name == "firstMatching" {
          hand.fail(number)
        } else {
          hand.succeed(number, number)
        }
      }
      let before = hand.started.events.count
      started.cancel()
      #expect(hand.cancelled.events.count == 2, "both that run are told")
      #expect(ends.events.count == (losers == .abandon ? 1 : 0))
      for number in 0..<4 { hand.succeed(number, 100 + number) }
      #expect(ends.events.count == 1)
      #expect(hand.started.events.count == before, "none is started any more")
      if form.name != "allSettled" {
        #expect(Self.error(ends.events.first)?.code == .cancelled)
        #expect(discarded.events.count(where: { $0 >= 100 }) == 2)
      }
    }
  }

  @Test("The deadline: what runs is told and abandoned, and the error has the failures so far", arguments: losers)
  func deadline(_ losers: Losers) async throws {
    let hand = Hand<Int>()
    let error = try await onThread { () -> FlowError<Oops>? in
      do throws(FlowError<Oops>) {
        let functions = [Self.failing(0)] + hand.functions(2)
        _ = try firstToSucceed(losers: losers, until: .after(.milliseconds(1)), functions)
        return nil
      } catch {
        return error
      }
    }
    #expect(error?.code == .timedOut)
    #expect(error?.failures == [Oops(number: 0)])
    #expect(error?.failure == nil)
    #expect(hand.cancelled.events == [0, 1])
    #expect(Losers.abandonedCount >= 2)
    hand.fail(0)
    hand.drop(1)
  }

  @Test("allSettled at the deadline: the ends that are there, and timedOut for the others")
  func settledAtDeadline() async throws {
    let hand = Hand<Int>()
    let results = try await onThread {
      try allSettled(until: .after(.milliseconds(1)), [Self.number(1), hand.function(0), Self.failing(2)])
    }
    #expect(results.map { try? $0.get() } == [1, nil, nil])
    let codes = results.map { result -> FlowErrorCode? in
      if case .failure(let error) = result { error.code } else { nil }
    }
    #expect(codes == [nil, .timedOut, .failed])
    hand.drop(0)
  }

  @Test("P93 the blocked thread is cancelled: join waits for the losers' answers, abandon does not")
  func threadCancelled() async throws {
    let hand = Hand<Int>()
    let joining = try startThread { try firstToSucceed(losers: .join, until: generous, hand.functions(2)) }
    await hand.started.wait(for: 2)
    joining.cancel()
    await hand.cancelled.wait(for: 2)
    #expect(joining.isRunning)
    hand.fail(0)
    hand.fail(1)
    #expect(code(of: try await joining.value()) == .cancelled)

    let other = Hand<Int>()
    let abandoning = try startThread { try firstToSucceed(losers: .abandon, until: generous, other.functions(2)) }
    await other.started.wait(for: 2)
    abandoning.cancel()
    #expect(code(of: try await abandoning.value()) == .cancelled)
    other.drop(0)
    other.drop(1)
  }

  @Test(
    "P97 one of them would deliver on the loop that waits: refused at once, and the others are cancelled",
    arguments: forms)
  func wouldDeadlock(_ form: Form) async throws {
    let loop = try ThreadLoop(name: "waiting")
    let hand = Hand<Int>()
    let code = try await loop.performAndWait {
      flowCode { () throws(FlowError<Oops>) in
        try form.block(
          .max, .join, generous, nil,
          [hand.function(0), { completion in hand.function(1)(completion.deliver(on: .loop(loop))) }])
      }
    }
    #expect(code == .wouldDeadlock)
    #expect(hand.cancelled.events.contains(0))
    hand.drop(0)
    hand.drop(1)
    loop.stop()
  }

  @Test("P97 in a task on a cooperative thread the blocking forms throw, and call nothing", arguments: forms)
  func cooperative(_ form: Form) async {
    let hand = Hand<Int>()
    let code = flowCode { () throws(FlowError<Oops>) in
      try form.block(.max, .join, generous, nil, hand.functions(1))
    }
    #expect(code == .onCooperativeThread)
    #expect(hand.started.events.isEmpty)
  }

  @Test("Combinators are callback functions, and can be parts of others; a cancellation goes down to the last of them")
  func nested() {
    let hand = Hand<Int>()
    let ends = Record<Result<[Int], FlowError<FlowError<FlowError<Oops>>>>>()
    let started = startCallback(
      allSucceed([firstToSucceed([hand.function(0), hand.function(1)]), race([hand.function(2), hand.function(3)])])
    ) { ends.add($0) }
    hand.succeed(1, 1)
    hand.fail(0)
    #expect(hand.cancelled.events == [0])
    started.cancel()
    #expect(hand.cancelled.events.sorted() == [0, 2, 3])
    hand.drop(2)
    hand.drop(3)
    #expect(ends.events.count == 1)
  }

  @Test("Many threads answer at once: each contest ends once, with all results")
  func threads() async throws {
    let pool = try ThreadPool(name: "answers", size: 4)
    for losers in Self.losers {
      let functions: [Function] = (0..<200).map { number in
        { completion in _ = try? pool.execute { completion.succeed(number) } }
      }
      #expect(try await onThread { try allSucceed(atMost: 7, until: generous, functions) } == Array(0..<200))
      _ = try await onThread { try firstToSucceed(atMost: 7, losers: losers, until: generous, functions) }
    }
    pool.dispose()
  }
}
