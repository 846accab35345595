import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Fixed numbers of functions with different results.
@Suite struct FixedNumberTests {
  private static let text: @Sendable () async throws(Oops) -> String = { () async throws(Oops) in "text" }
  private static let number: @Sendable () async throws(Oops) -> Int = { () async throws(Oops) in 7 }
  private static let failing: @Sendable () async throws(Oops) -> Bool = { () async throws(Oops) in throw Oops(number: 2)
  }

  private static let textAnswer: CallbackFunction<String, Oops> = { $0.succeed("text") }
  private static let numberAnswer: CallbackFunction<Int, Oops> = { $0.succeed(7) }
  private static let failingAnswer: CallbackFunction<Bool, Oops> = { $0.fail(Oops(number: 2)) }

  @Test("allSucceed: a tuple of results, or the first failure", arguments: [Losers.join, .abandon])
  func all(_ losers: Losers) async throws {
    let (text, number) = try await allSucceed(losers: losers, Self.text, Self.number)
    #expect(text == "text" && number == 7)
    let error = await #expect(throws: FlowError<Oops>.self) {
      _ = try await allSucceed(losers: losers, Self.text, Self.failing)
    }
    #expect(error?.failure == Oops(number: 2) && error?.inputs == [1])
    let answers = try await onThread {
      let (text, number) = try allSucceed(losers: losers, until: generous, Self.textAnswer, Self.numberAnswer)
      return "\(text) \(number)"
    }
    #expect(answers == "text 7")
  }

  @Test("allSettled: a tuple of ends")
  func settled() async throws {
    let (text, failed, number) = try await allSettled(Self.text, Self.failing, Self.number)
    #expect(try text.get() == "text")
    #expect(try number.get() == 7)
    let error = #expect(throws: FlowError<Oops>.self) { try failed.get() }
    #expect(error?.failure == Oops(number: 2) && error?.inputs == [1])
    let code = try await onThread {
      let (text, failed) = try allSettled(until: generous, Self.textAnswer, Self.failingAnswer)
      _ = try text.get()
      return flowCode { () throws(FlowError<Oops>) in try failed.get() }
    }
    #expect(code == .failed)
  }

  @Test("firstToSucceed and race: the winner's result at its place, nil elsewhere, also when a loser succeeds late")
  func first() async throws {
    let (failed, number) = try await firstToSucceed(Self.failing, Self.number)
    #expect(failed == nil && number == 7)
    let hand = Hand<Int>()
    let running = Task {
      try await firstToSucceed(hand.async(0, heeds: false), { @Sendable () async throws(Oops) in "won" })
    }
    await hand.started.wait(for: 1)
    await hand.cancelled.wait(for: 1)
    hand.end(0, .success(5))
    let (late, won) = try await running.value
    #expect(late == nil && won == "won")

    let places = try await onThread {
      let (failed, text) = try firstToSucceed(until: generous, Self.failingAnswer, Self.textAnswer)
      return "\(failed.map { "\($0)" } ?? "-") \(text ?? "-")"
    }
    #expect(places == "- text")
    let raced = try await onThread {
      let (number, text) = try race(until: generous, Self.numberAnswer, Self.textAnswer)
      return "\(number ?? 0) \(text ?? "-")"
    }
    #expect(raced == "7 -")
    let (one, other) = try await race(Self.number, hand.async(1))
    #expect(one == 7 && other == nil)
  }

  @Test("One function: its result, or its failure")
  func one() async throws {
    let all = try await allSucceed(Self.number)
    let first = try await firstToSucceed(Self.number)
    let raced = try await race(Self.number)
    let voted = try await quorum(1, Self.number)
    let settled = try await allSettled(Self.number)
    #expect(all == 7 && first == 7 && raced == 7 && voted == 7)
    #expect(try settled.get() == 7)
    let failed = await #expect(throws: FlowError<Oops>.self) { _ = try await quorum(1, Self.failing) }
    #expect(failed?.code == .quorumMissed && failed?.failures == [Oops(number: 2)])
  }

  @Test("quorum: the first successes at their places, nil elsewhere; bad numbers are refused")
  func someOf() async throws {
    let (text, failed, number) = try await quorum(2, Self.text, Self.failing, Self.number)
    #expect(text == "text" && failed == nil && number == 7)
    let (no, never) = try await quorum(0, Self.text, Self.failing)
    #expect(no == nil && never == nil)
    let refused = await #expect(throws: FlowError<Oops>.self) { _ = try await quorum(3, Self.text, Self.number) }
    #expect(refused?.code == .invalidArgument)
    let words = try await onThread {
      let (text, failed, number) = try quorum(
        2, until: generous, Self.textAnswer, Self.failingAnswer, Self.numberAnswer)
      return "\(text ?? "-") \(failed.map { "\($0)" } ?? "-") \(number ?? 0)"
    }
    #expect(words == "text - 7")
  }

  @Test("As callback functions: tuples of results, ends, winners; a failure; a cancellation that goes down")
  func callbacks() {
    let heard = Record<String>()
    func hear<Value: Sendable>(_ function: CallbackFunction<Value, FlowError<Oops>>) {
      startCallback(function) { result in
        switch result {
        case .success(let value): heard.add("\(value)")
        case .failure(let error): heard.add("\(error.failure?.code ?? error.code)")
        }
      }
    }
    hear(allSucceed(Self.textAnswer, Self.numberAnswer))
    hear(allSucceed(Self.textAnswer, Self.failingAnswer))
    hear(firstToSucceed(Self.failingAnswer, Self.numberAnswer))
    hear(race(Self.textAnswer, Self.numberAnswer))
    hear(quorum(2, Self.textAnswer, Self.failingAnswer, Self.numberAnswer))
    hear(quorum(3, Self.textAnswer, Self.failingAnswer, Self.numberAnswer))
    startCallback(allSettled(Self.textAnswer, Self.failingAnswer)) { result in
      let ends = try? result.get()
      heard.add("\((try? ends?.0.get()) ?? "-") \((try? ends?.1.get()) == nil)")
    }
    #expect(
      heard.events == [
        #"("text", 7)"#, "failed", "(nil, Optional(7))", #"(Optional("text"), nil)"#,
        #"(Optional("text"), nil, Optional(7))"#, "quorum_missed", "text true",
      ])
    let hand = Hand<Int>()
    let started = startCallback(allSucceed(hand.function(0), Self.textAnswer)) { result in
      if case .failure(let error) = result { heard.add("\(error.failure?.code ?? error.code)") }
    }
    started.cancel()
    #expect(hand.cancelled.events == [0])
    hand.drop(0)
    #expect(heard.events.last == "cancelled")
  }

  @Test("P93 cancelled: all are, and have ended; with abandon it returns among those that ignore it")
  func cancelled() async {
    for losers in [Losers.join, .abandon] {
      let (hand, other) = (Hand<Int>(), Hand<String>())
      let running = Task {
        _ = try await allSucceed(losers: losers, hand.async(0), other.async(1, heeds: losers == .join))
      }
      await hand.started.wait(for: 1)
      await other.started.wait(for: 1)
      running.cancel()
      #expect(code(of: await running.result) == .cancelled)
      #expect(other.ended.events == (losers == .join ? [1] : []))
      other.end(1, .failure(Oops()))
    }
  }

  @Test(
    "P92 results that must be destroyed: none outlives its use, though an abandoned loser runs on", arguments: [1, 2])
  func destroyed(_ needed: Int) async throws {
    let (census, hand, stubborn) = (Census(), Hand<Census.Token>(), Hand<String>())
    let running = Task {
      let (one, two, _) = try await quorum(
        needed, losers: .abandon, hand.async(0, heeds: false), hand.async(1, heeds: false),
        stubborn.async(2, heeds: false))
      return [one?.number, two?.number]
    }
    await hand.started.wait(for: 2)
    await stubborn.started.wait(for: 1)
    hand.end(0, .success(census.token(0)))
    if needed == 2 { hand.end(1, .success(census.token(1))) }
    #expect(try await running.value == [0, needed == 2 ? 1 : nil])
    // It comes too late.
    if needed == 1 { hand.end(1, .success(census.token(1))) }
    await census.gone.wait(for: 2)
    #expect(census.alive == 0 && stubborn.ended.events.isEmpty, "though the third still runs")
    stubborn.end(2, .failure(Oops()))

    let waiting = try startThread { () throws in
      let (one, _) = try firstToSucceed(
        losers: .abandon, until: generous, hand.function(0), { @Sendable (_: Completion<Int, Oops>) in })
      return one?.number
    }
    await hand.started.wait(for: 3)
    hand.succeed(0, census.token(5))
    #expect(try await waiting.value().get() == 5)
    #expect(census.alive == 0)
  }
}
