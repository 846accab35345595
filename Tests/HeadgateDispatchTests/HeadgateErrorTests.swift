import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// One `catch` for the errors of every module.
@Suite struct HeadgateErrorTests {
  private struct Cause: Error {}

  private typealias Failing = @Sendable () async throws -> Void

  private static let failing: [(name: String, work: Failing)] = [
    ("invalid_capacity", { _ = try BlockingQueue<Int>(name: "q", capacity: -1) }),
    ("empty_name", { _ = try ThreadPool(name: "", size: 1) }),
    ("failed", { _ = try await ManagedThread.spawn(name: "t") { throw Cause() }.value() }),
    ("timed_out", { throw WaitError(.timedOut, operation: "take") }),
    ("disposed", { throw TimerError(.disposed, timers: "t") }),
    ("stopped", { throw LoopError(.stopped, loop: "l") }),
    ("failed", { throw PerformError<Cause>(.failed, failure: Cause()) }),
    ("not_called", { throw PerformError<Cause>(.notCalled, reason: WaitError(.closed, operation: "perform")) }),
    ("no_input", { _ = try await firstToSucceed([Int]()) { $0 } }),
    ("step_failed", { try step("s") { throw Cause() } }),
    ("timed_out", { try step("s") { throw WaitError(.timedOut, operation: "take") } }),
    ("missing_result", { throw MissingResult() }),
    ("invalid_limit", { _ = try EndPointLimits(requests: 0) }),
    ("missing_host", { _ = try EndPoint("http:///") }),
    ("invalid_url", { _ = try DispatchRequest("nowhere") }),
    (
      "invalid_argument",
      {
        let dispatcher = URLDispatcher(transport: ScriptedTransport(), logger: .silent)
        try await dispatcher.uploadChunks(ofFile: "x", for: DispatchRequest("http://h/"), size: 0)
      }
    ),
  ]

  @Test(
    "every error of the package is caught as a HeadgateError, with a code for logs and a text for users",
    arguments: 0..<failing.count)
  func caught(number: Int) async {
    let (name, work) = Self.failing[number]
    do {
      try await work()
      Issue.record("\(name): it did not fail")
    } catch let error as any HeadgateError {
      #expect(error.codeName == name, "\(error)")
      #expect(!error.description.isEmpty)
    } catch {
      Issue.record("\(name): \(type(of: error)) is not a HeadgateError")
    }
  }

  @Test("the underlying error is available for every type")
  func underlying() {
    let errors: [any HeadgateError] = [
      DispatchError(.interceptorFailed, underlyingError: Cause()), PerformError<Cause>(.failed, failure: Cause()),
      StepError("s", Cause()),
    ]
    for error in errors { #expect(error.underlyingError is Cause, "\(error)") }
    #expect((WaitError(.closed, operation: "take") as any HeadgateError).underlyingError == nil)
  }
}
