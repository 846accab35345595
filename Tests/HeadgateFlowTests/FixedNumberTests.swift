import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Functions as separate arguments, also with different results.
@Suite struct FixedNumberTests {
  private static let text: @Sendable () async -> String = { "text" }
  private static let number: @Sendable () async throws(Oops) -> Int = { () async throws(Oops) in 7 }
  private static let failing: @Sendable () async throws -> Bool = { throw Oops(number: 2) }

  @Test("allSucceed: a tuple of results, or the first failure", arguments: [Losers.join, .abandon])
  func all(_ losers: Losers) async throws {
    let (text, number) = try await allSucceed(losers: losers, Self.text, Self.number)
    #expect(text == "text" && number == 7)
    let error = await #expect(throws: FlowError.self) {
      _ = try await allSucceed(losers: losers, Self.text, Self.failing)
    }
    #expect(error?.oops == Oops(number: 2) && error?.inputs == [1])
    #expect(try await allSucceed(Self.number) == 7)
  }

  @Test("allSettled: a tuple of ends")
  func settled() async throws {
    let (text, failed, number) = try await allSettled(Self.text, Self.failing, Self.number)
    #expect(try text.get() == "text")
    #expect(try number.get() == 7)
    #expect(throws: Oops(number: 2)) { try failed.get() }
  }

  @Test("firstToSucceed and race: functions with errors of any type, or none, as separate arguments")
  func first() async throws {
    let typed: @Sendable () async throws(Oops) -> Int = { () async throws(Oops) in throw Oops(number: 1) }
    #expect(try await firstToSucceed(typed, Self.number) == 7)
    #expect(try await firstToSucceed({ throw Oops() }, { 3 }, atMost: 1) == 3)
    #expect(try await race(Self.number) == 7)
    let hand = Hand<Int>()
    let running = Task { try await race(hand.async(0), hand.async(1)) }
    await hand.started.wait(for: 2)
    hand.end(1, .failure(Oops(number: 1)))
    let error = flowError(await running.result)
    #expect(error?.code == .failed && error?.oops == Oops(number: 1) && error?.inputs == [1])
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

  @Test("P92 results with a deinit: none outlives its use, though an abandoned loser runs on")
  func destroyed() async throws {
    let (census, hand, stubborn) = (Census(), Hand<Census.Token>(), Hand<String>())
    let running = Task {
      _ = try await allSucceed(
        losers: .abandon, hand.async(0, heeds: false), hand.async(1, heeds: false), stubborn.async(2, heeds: false))
    }
    await hand.started.wait(for: 2)
    await stubborn.started.wait(for: 1)
    hand.end(0, .success(census.token(0)))
    hand.end(1, .failure(Oops()))
    #expect(code(of: await running.result) == .failed)
    await census.gone.wait(for: 1)
    #expect(census.alive == 0 && stubborn.ended.events.isEmpty, "though the third still runs")
    stubborn.end(2, .failure(Oops()))
  }
}
