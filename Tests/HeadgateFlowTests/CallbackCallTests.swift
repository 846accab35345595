import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// One call of a callback function, for every behaviour of the function.
@Suite struct CallbackCallTests {
  /// A call with its own count.
  private struct Bench {
    let discarded = Record<Int>()
    let abandoned = AbandonedCount()

    func call() -> CallbackCall<Int> {
      CallbackCall(blocked: nil, discard: { [discarded] in discarded.add($0) }, abandoned: abandoned)
    }
  }

  /// The outcome of the waiter as a word.
  private static func heard(_ call: CallbackCall<Int>) -> String? {
    switch call.leave() {
    case .success(let value): "\(value)"
    case .failure(let error as Oops): "!\(error.number)"
    case .failure(let error): "\(EndCode(error))"
    case nil: nil
    }
  }

  @Test("P90 answered twice: the first counts, and the second success is discarded")
  func twice() {
    let bench = Bench()
    let call = bench.call()
    let completion = Completion(call)
    completion.succeed(1)
    completion.succeed(2)
    completion.fail(Oops())
    completion(Result<Int, Oops>.success(3))
    #expect(Self.heard(call) == "1")
    completion.succeed(4)
    #expect(bench.discarded.events == [2, 3, 4])
  }

  @Test("P90 answered more than twice: one warning, which no call repeats")
  func complaint() async {
    await #expect(processExitsWith: .success) {
      final class Lines: HeadgateLogDelegate {
        let told = Record<String>()
        func headgateLog(_ line: String, source: HeadgateLog.Source) { told.add(line) }
      }
      let lines = Lines()
      HeadgateLog.delegate = lines
      let completion = Completion(Bench().call())
      for number in 1...4 { completion.succeed(number) }
      try #require(lines.told.events.count == 1)
      try #require(lines.told.events[0].contains("more than once"))
    }
  }

  @Test("P90 never answered: releasing the last copy ends the call, and only that")
  func never() {
    let bench = Bench()
    let call = bench.call()
    var copies = [Completion(call)]
    copies.append(copies[0])
    copies.removeLast()
    #expect(call.listen(Waiter.ofThread()))
    copies = []
    #expect(!call.listen(Waiter.ofThread()))
    call.cancel()
    #expect(Self.heard(call) == "completion_released")
  }

  @Test("P90 answered after it was given up: a success is discarded, and the call counts as abandoned until then")
  func late() {
    let bench = Bench()
    let call = bench.call()
    let completion = Completion(call)
    #expect(Self.heard(call) == nil && Self.heard(call) == nil)
    #expect(bench.abandoned.value == 1)
    completion.succeed(1)
    #expect(bench.abandoned.value == 0)
    #expect(Self.heard(call) == nil)
    #expect(bench.discarded.events == [1])
  }

  @Test("P90 given up and then released: it does not count any more")
  func lateAndSilent() {
    let bench = Bench()
    let call = bench.call()
    var completion: Completion<Int>? = Completion(call)
    #expect(Self.heard(call) == nil)
    #expect(completion != nil && bench.abandoned.value == 1)
    completion = nil
    #expect(bench.abandoned.value == 0)
    #expect(Self.heard(call) == nil)
  }

  @Test("Given up after its end: nothing was abandoned")
  func giveUpLate() {
    let bench = Bench()
    let call = bench.call()
    Completion(call).succeed(1)
    #expect(Self.heard(call) == "1" && Self.heard(call) == nil)
    #expect(bench.abandoned.value == 0)
  }

  @Test("P95 hooks run once, in order, none after the end; an error of one does not stop the others")
  func hooks() {
    let bench = Bench()
    let ran = Record<Int>()
    let call = bench.call()
    let completion = Completion(call)
    completion.onCancel { ran.add(1) }
    completion.onCancel {
      ran.add(2)
      throw Oops()
    }
    completion.onCancel { ran.add(3) }
    #expect(!completion.isCancelled)
    call.cancel()
    call.cancel()
    #expect(completion.isCancelled)
    completion.onCancel { ran.add(4) }
    #expect(ran.events == [1, 2, 3, 4])
    completion.succeed(1)
    completion.onCancel { ran.add(5) }
    #expect(ran.events == [1, 2, 3, 4])
    #expect(Self.heard(call) == "1")

    let other = bench.call()
    let answered = Completion(other)
    answered.onCancel { ran.add(6) }
    answered.succeed(2)
    other.cancel()
    #expect(ran.events == [1, 2, 3, 4])
  }

  @Test("A hook that answers keeps later ones from running")
  func answerInHook() {
    let bench = Bench()
    let ran = Record<Int>()
    let call = bench.call()
    let completion = Completion(call)
    completion.onCancel { completion.fail(Oops(number: 7)) }
    completion.onCancel { ran.add(1) }
    call.cancel()
    #expect(Self.heard(call) == "!7")
    #expect(ran.events.isEmpty)
  }

  @Test("Hooks and their captures are released at the answer")
  func hooksLetGo() {
    let (bench, census) = (Bench(), Census())
    let completion = Completion(bench.call())
    let token = Locked<Census.Token?>(census.token())
    let held = token.withLock { $0.take() }
    completion.onCancel { [held] in _ = held }
    completion.succeed(1)
    _ = consume held
    #expect(census.alive == 0)
  }

  @Test("Both a value and an error: the error counts and the value is discarded; neither: an error that says so")
  func twoOptionals() {
    let (heard, discarded) = (Record<String>(), Record<Int>())
    func answer(_ value: Int?, _ error: (any Error)?) {
      let call = CallbackCall<Int>(discard: { discarded.add($0) })
      Completion(call)(value, error)
      switch call.leave() {
      case .success(let value): heard.add("\(value)")
      case .failure(let error): heard.add("\(type(of: error))")
      case nil: heard.add("-")
      }
    }
    answer(1, nil)
    answer(nil, Oops())
    answer(2, Oops())
    answer(nil, nil)
    #expect(heard.events == ["1", "Oops", "Oops", "MissingResult"])
    #expect(discarded.events == [2])
  }

  @Test("Many threads answer and cancel at once: one end, and every other success discarded")
  func race() async throws {
    for round in 0..<50 {
      let (bench, early) = (Bench(), Record<String>())
      let call = bench.call()
      let threads = try (0..<4).map { number in
        let completion = Completion(call)
        return try ManagedThread.spawn {
          if number == 3 {
            call.cancel()
            if round % 2 == 0, let heard = Self.heard(call) { early.add(heard) }
          } else {
            completion.onCancel { completion.succeed(number + 10) }
            completion.succeed(number)
          }
        }
      }
      for thread in threads { try await thread.value() }
      let heard = early.events.count + (Self.heard(call) == nil ? 0 : 1)
      #expect(heard <= 1)
      #expect(heard == 1 || round % 2 == 0)
      #expect(bench.discarded.events.count >= 3 - heard)
      #expect(bench.abandoned.value == 0)
    }
  }
}
