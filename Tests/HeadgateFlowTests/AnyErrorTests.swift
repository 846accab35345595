import HeadgateFlow
import HeadgateThreads
import Testing

/// Functions whose errors have different types, one type, or none at all: each is thrown unchanged.
@Suite struct AnyErrorTests {
  private static func function(_ number: Int) -> @Sendable () async throws -> String {
    { @Sendable in
      await Task.yield()
      if number < 0 { throw Oops(number: number) }
      return "text number \(number)"
    }
  }

  private static func typed(_ number: Int) -> @Sendable () async throws(Oops) -> Int {
    { () async throws(Oops) in
      if number < 0 { throw Oops(number: number) }
      return number
    }
  }

  private static func functions(_ numbers: [Int]) -> [@Sendable () async throws -> String] { numbers.map(function) }

  private func numbers(_ error: FlowError?) -> [Int] { error?.oopses.map(\.number) ?? [] }

  @Test("All failed: each error is reported unchanged", arguments: [Losers.join, .abandon])
  func first(losers: Losers) async throws {
    let error = await #expect(throws: FlowError.self) {
      try await firstToSucceed(Self.functions([-1, -2, -3]), losers: losers, call)
    }
    #expect(error?.code == .allFailed && numbers(error) == [-1, -2, -3])
    #expect(try await firstToSucceed(Self.functions([-1, 2, -3]), losers: losers, call) == "text number 2")
  }

  @Test("Settled, race, quorum, match, retry, hedge, map: errors are reported unchanged")
  func others() async throws {
    let ends = try await allSettled(Self.functions([1, -2]), call)
    #expect(try ends[0].get() == "text number 1")
    #expect(throws: Oops(number: -2)) { try ends[1].get() }
    let fails = Self.function(-7)
    let flows: [@Sendable () async throws -> Void] = [
      { _ = try await race([fails], call) }, { _ = try await quorum(1, of: [fails], call) },
      { _ = try await firstMatching([fails], where: { _ in true }, call) },
      { _ = try await allSucceed([fails], call) },
      { _ = try await [1].mapConcurrently(limit: 1) { _ in try await fails() } },
      { _ = try await retry(attempts: 1, fails) }, { _ = try await hedged(after: .zero, attempts: 1, fails) },
      { _ = try await sendChunks(ofLength: 1) { _ in _ = try await fails() } },
    ]
    for flow in flows {
      let error = await #expect(throws: FlowError.self) { try await flow() }
      #expect(numbers(error) == [-7])
    }
    await #expect(throws: Oops(number: -7)) { try await withDeadline(.distantFuture, fails) }
    await #expect(throws: Oops(number: -7)) {
      try await awaitCallback { (completion: Completion<Int>) in completion.fail(Oops(number: -7)) }
    }
  }

  @Test(
    "An array of functions whose errors have a type, or none, without an annotation",
    arguments: [Losers.join, .abandon])
  func typed(_ losers: Losers) async throws {
    let typed = [Self.typed(-1), Self.typed(2)]
    #expect(try await firstToSucceed(typed, losers: losers) { try await $0() } == 2)
    let error = await #expect(throws: FlowError.self) { try await allSucceed(typed, losers: losers) { try await $0() } }
    #expect(numbers(error) == [-1])
    let sound: [@Sendable () async -> Int] = [{ 1 }, { 2 }]
    #expect(try await allSucceed(sound, losers: losers) { await $0() } == [1, 2])
  }

  @Test("Inputs of any kind: the function receives its input, and may be a method")
  func inputs() async throws {
    struct Mirror: Sendable {
      let name: String
      func page() async throws -> String { "\(name) page" }
    }
    let mirrors = ["a", "b"].map(Mirror.init)
    #expect(try await allSucceed(mirrors) { try await $0.page() } == ["a page", "b page"])
    #expect(try await allSucceed(Set([1]), { $0 + 1 }) == [2])
    #expect(
      try await firstToSucceed(1...3, atMost: 1) { number in if number < 3 { throw Oops() } else { number } } == 3)
  }
}
