import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// One call of a callback function, whatever the function does.
@Suite struct CallbackCallTests {
  /// A call with a listener that takes what comes, and a count of its own.
  private struct Bench {
    let heard = Record<String>()
    let discarded = Record<Int>()
    let abandoned = AbandonedCount()

    func call(takes: Bool = true) -> CallbackCall<Int, Oops> {
      CallbackCall(duties: nil, discard: { [discarded] in discarded.add($0) }, abandoned: abandoned) { [heard] end in
        heard.add(Self.word(end))
        return takes
      }
    }

    static func word(_ end: CallEnd<Int, Oops>) -> String {
      switch end {
      case .success(let value): "\(value)"
      case .failure(let failure): "!\(failure.number)"
      case .missing(let code, _): "\(code)"
      }
    }
  }

  @Test("P90 answered twice: the first counts, and the second success is discarded")
  func twice() {
    let bench = Bench()
    let completion = Completion(bench.call())
    completion.succeed(1)
    completion.succeed(2)
    completion.fail(Oops())
    completion(.success(3))
    #expect(bench.heard.events == ["1"])
    #expect(bench.discarded.events == [2, 3])
  }

  @Test("P90 never answered: letting go of the last copy ends the call, and only that")
  func never() {
    let bench = Bench()
    let call = bench.call()
    var copies = [Completion(call)]
    copies.append(copies[0])
    copies.removeLast()
    #expect(bench.heard.events.isEmpty)
    copies = []
    #expect(bench.heard.events == ["unanswered"])
    call.cancel(.cancelled)
    #expect(bench.heard.events == ["unanswered"])
  }

  @Test("P90 answered after it was given up: a success is discarded, and the call counts as abandoned until then")
  func late() {
    let bench = Bench()
    let call = bench.call()
    let completion = Completion(call)
    call.giveUp()
    call.giveUp()
    #expect(bench.abandoned.value == 1)
    completion.succeed(1)
    #expect(bench.abandoned.value == 0)
    #expect(bench.heard.events.isEmpty)
    #expect(bench.discarded.events == [1])
  }

  @Test("P90 given up and then let go of: it does not count any more")
  func lateAndSilent() {
    let bench = Bench()
    let call = bench.call()
    var completion: Completion<Int, Oops>? = Completion(call)
    call.giveUp()
    #expect(completion != nil && bench.abandoned.value == 1)
    completion = nil
    #expect(bench.abandoned.value == 0)
    #expect(bench.heard.events.isEmpty)
  }

  @Test("Given up after its end: nothing was abandoned")
  func giveUpLate() {
    let bench = Bench()
    let call = bench.call()
    Completion(call).succeed(1)
    call.giveUp()
    #expect(bench.abandoned.value == 0)
  }

  @Test("P92 a listener that does not take a success any more: it is discarded")
  func notTaken() {
    let bench = Bench()
    Completion(bench.call(takes: false)).succeed(1)
    #expect(bench.discarded.events == [1])
  }

  @Test("P95 hooks run once, in order, none after the end; an error of one stops nothing")
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
    call.cancel(.cancelled)
    call.cancel(.timedOut)
    #expect(completion.isCancelled)
    completion.onCancel { ran.add(4) }
    #expect(ran.events == [1, 2, 3, 4])
    completion.succeed(1)
    completion.onCancel { ran.add(5) }
    #expect(ran.events == [1, 2, 3, 4])
    #expect(bench.heard.events == ["1"])

    let other = bench.call()
    let answered = Completion(other)
    answered.onCancel { ran.add(6) }
    answered.succeed(2)
    other.cancel(.cancelled)
    #expect(ran.events == [1, 2, 3, 4])
  }

  @Test("A hook that answers keeps those behind it from running")
  func answerInHook() {
    let bench = Bench()
    let ran = Record<Int>()
    let call = bench.call()
    let completion = Completion(call)
    completion.onCancel { completion.fail(Oops(number: 7)) }
    completion.onCancel { ran.add(1) }
    call.cancel(.cancelled)
    #expect(bench.heard.events == ["!7"])
    #expect(ran.events.isEmpty)
  }

  @Test("Hooks and what they hold are let go of at the answer")
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
    func completion() -> Completion<Int, any Error> {
      Completion(
        CallbackCall(duties: nil, discard: { discarded.add($0) }) { end in
          if case .success(let value) = end { heard.add("\(value)") }
          if case .failure(let error) = end { heard.add("\(type(of: error))") }
          return true
        })
    }
    completion()(1, nil)
    completion()(nil, Oops())
    completion()(2, Oops())
    completion()(nil, nil)
    #expect(heard.events == ["1", "Oops", "Oops", "EmptyAnswer"])
    #expect(discarded.events == [2])
  }

  @Test("Many threads answer and cancel at once: one end, and every other success discarded")
  func race() async throws {
    for round in 0..<50 {
      let bench = Bench()
      let call = bench.call()
      let threads = try (0..<4).map { number in
        let completion = Completion(call)
        return try ManagedThread.spawn {
          if number == 3 {
            call.cancel(.cancelled)
            if round % 2 == 0 { call.giveUp() }
          } else {
            completion.onCancel { completion.succeed(number + 10) }
            completion.succeed(number)
          }
        }
      }
      for thread in threads { try await thread.value() }
      let heard = bench.heard.events.count
      #expect(heard <= 1)
      #expect(heard == 1 || round % 2 == 0)
      #expect(bench.discarded.events.count >= 3 - heard)
      #expect(bench.abandoned.value == 0)
    }
  }
}
