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
}
