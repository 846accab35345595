import HeadgateThreads
import Testing

@testable import HeadgateFlow

#if canImport(Glibc)
import Glibc
#endif

/// What functions bring, beside the rules: of whatever size it is, and however many wait.
@Suite struct ContestSlotsTests {
  struct LongOops: Error, Equatable {
    var words = SIMD8<UInt64>(0, 1, 2, 3, 4, 5, 6, 7)
  }

  @Test("Successes larger than failures, and failures larger than successes: each stays as it was put")
  func sizes() {
    let wide = ContestSlots<SIMD8<Double>, Oops>(count: 3)
    defer { wide.deallocate() }
    wide.putSuccess(SIMD8(repeating: 1), at: 0)
    wide.putFailure(Oops(number: 2), at: 1)
    wide.putSuccess(SIMD8(repeating: 3), at: 2)
    #expect(wide.takeSuccess(0) == SIMD8(repeating: 1) && wide.takeSuccess(2) == SIMD8(repeating: 3))
    #expect(wide.takeFailure(1) == Oops(number: 2))

    let long = ContestSlots<UInt8, LongOops>(count: 3)
    defer { long.deallocate() }
    long.putFailure(LongOops(), at: 1)
    long.putSuccess(1, at: 0)
    long.putSuccess(3, at: 2)
    #expect(long.takeSuccess(0) == 1 && long.takeSuccess(2) == 3)
    #expect(long.takeFailure(1) == LongOops())
  }

  @Test("Failures that must be destroyed: none outlives the error that carries it, nor a result without it")
  func failures() async throws {
    struct Loss: Error { let token: Census.Token }
    let census = Census()
    let failing: @Sendable (Int) -> @Sendable () async throws(Loss) -> Int = { number in
      { () async throws(Loss) in throw Loss(token: census.token(number)) }
    }
    do throws(FlowError<Loss>) {
      _ = try await firstToSucceed(throwing: Loss.self, [failing(0), failing(1)])
      Issue.record("something succeeded")
    } catch {
      #expect(error.failures.map(\.token.number) == [0, 1])
      #expect(census.alive == 2)
    }
    #expect(census.alive == 0)
    let succeeding: @Sendable () async throws(Loss) -> Int = { () async throws(Loss) in 7 }
    let values = try await quorum(throwing: Loss.self, 1, of: [failing(0), failing(1), succeeding], atMost: 1)
    #expect(values == [7] && census.alive == 0)
  }

  @Test("P92 a loser that answers while another one decides, which abandons it: its success is discarded, once")
  func lateAnswer() {
    let (hand, discarded, asked) = (Hand<Int>(), Record<Int>(), Record<Int>())
    let ends = Record<Result<Int, FlowError<FlowError<Oops>>>>()
    let functions = hand.functions(2)
    startCallback(
      firstMatching(functions, losers: .abandon, discard: { discarded.add($0) }) { value in
        asked.add(value)
        // What matches comes in the middle of the answer that is asked about.
        if value == 0 { hand.succeed(1, 10) }
        return value == 10
      }
    ) { ends.add($0) }
    hand.succeed(0, 0)
    #expect((try? ends.events.first?.get()) == 10 && ends.events.count == 1)
    #expect(asked.events == [0, 10])
    #expect(discarded.events == [0])
  }

  #if canImport(Glibc)
  @Test("Async functions that wait hold no thread: a thousand need those of ten", .timeLimit(.minutes(2)))
  func threads() async {
    // In a process of its own, in which nothing else starts threads.
    await #expect(processExitsWith: .success) {
      for losers in AsyncContestTests.losers {
        for form in AsyncContestTests.forms {
          let few = try await ContestSlotsTests.threadsWhileWaiting(10, form, losers)
          let many = try await ContestSlotsTests.threadsWhileWaiting(1000, form, losers)
          // The cooperative threads come one by one, up to one for each processor.
          #expect(many <= few + sysconf(Int32(_SC_NPROCESSORS_ONLN)), "\(form.name), \(losers): \(few), \(many)")
        }
      }
    }
  }

  /// How many threads the process has while so many functions wait for one signal.
  private static func threadsWhileWaiting(
    _ count: Int, _ form: AsyncContestTests.Form, _ losers: Losers
  ) async throws -> Int {
    let hand = Hand<Int>()
    let running = Task { try await form.run(.max, losers, nil, hand.asyncs(count)) }
    await hand.started.wait(for: count)
    let threads = threadCount
    for number in 0..<count { hand.end(number, .success(number)) }
    let values = try await running.value
    #expect(values == Array(0..<count) || values.count == 1)
    return threads
  }

  private static var threadCount: Int {
    guard let directory = opendir("/proc/self/task") else { return 0 }
    defer { closedir(directory) }
    var count = -2  // itself and the one above
    while readdir(directory) != nil { count += 1 }
    return count
  }
  #endif
}
