import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// The waits between attempts, and the events that end them. A day would exceed the limit of each test.
@Suite(.timeLimit(.minutes(1))) struct RetryWaitsTests {
  private static let day = Duration.seconds(86_400)

  @Test func `A wait returns after its time, and all return at once when they are ended`() async {
    let retryWaits = RetryWaits()
    await retryWaits.wait(for: .zero)
    await withTaskGroup { group in
      for _ in 0..<5 { group.addTask { await retryWaits.wait(for: Self.day) } }
      group.addTask { retryWaits.end() }
    }
    await retryWaits.wait(for: Self.day)
    retryWaits.end()
  }

  @Test func `An interrupt and the end of the output end the waits of a run`() async throws {
    for stop in [{ @Sendable run in _ = run.interrupt() }, { @Sendable (run: FetchRun) in run.outputBroke() }] {
      let trial = try FetchTrial(["http://127.0.0.1:1/"], in: try TemporaryFolder())
      async let rest: Void = trial.run.retryWaits.wait(for: Self.day)
      stop(trial.run)
      await rest
      await trial.run.retryWaits.wait(for: Self.day)
    }
  }

  @Test func `The limit on failures and the deadline end the waits of a run`() async throws {
    let origin = try Origin()
    let cut = origin.url("/short?declared=900&sent=100")
    for options in [["--max-failures", "1", origin.url("/status/404")], ["--deadline", "1", origin.url("/hold")]] {
      // A body for the output, which is repeated by the run itself.
      let trial = try FetchTrial(["--retry", "1000"] + options + [cut], in: try TemporaryFolder())
      #expect(await trial.finish().status != 0)
      // All waits had ended permanently.
      await trial.run.retryWaits.wait(for: Self.day)
    }
  }
}
