import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The task in which interceptors work.
@Suite struct InterceptorTaskTests {
  private enum Context {
    @TaskLocal static var trace = "none"
  }

  @Test("all work of interceptors has the task-local values and the priority of the submitting task")
  func inherits() async throws {
    let seen = Outcomes<String>()
    let note: @Sendable (String) -> Void = { seen.add("\($0) \(Context.trace) \(Task.currentPriority.rawValue)") }
    let hooks = Hooks(
      prepare: { _, _ in note("prepare") },
      review: { _, _ in
        note("review")
        return .deliver
      })
    let bench = try Bench(interceptors: [hooks])
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(2)), budget: .none)
    let (dispatcher, sent) = (bench.dispatcher, request)
    let task = Task.detached(priority: .low) {
      try await Context.$trace.withValue("mine") { try await dispatcher.data(for: sent) }
    }
    // The rest is called by a thread without a task, and by a task with other values.
    try await bench.transport.next().respond(503)
    Context.$trace.withValue("other") { bench.clock.advance(by: .seconds(2)) }
    try await bench.transport.next().respond(302, [.location: "http://b/"])
    try await bench.transport.next().respond(401)
    #expect(try await task.value.statusCode == 401)
    let low = TaskPriority.low.rawValue
    #expect(seen.values == ["prepare", "prepare", "prepare", "review"].map { "\($0) mine \(low)" })
    #expect(await bench.isCleanAtLast())
  }

  @Test("the task does one job after another, and ends when it is told to")
  func order() async throws {
    let done = Outcomes<Int>()
    let (task, inside, goesOn, ended) = (InterceptorTask(), Gate(), Gate(), Gate())
    task.perform {
      inside.open()
      await goesOn.waitRegardless()
      done.add(1)
    }
    try await inside.wait()
    task.perform { done.add(2) }
    #expect(done.values == [])
    goesOn.open()
    await done.wait(for: 2)
    #expect(done.values == [1, 2])
    task.perform {
      try? await untilCancelled()
      done.add(3)
      ended.open()
    }
    task.cancel()
    try await ended.wait()
    task.finish()
    task.perform { done.add(4) }
    #expect(done.values == [1, 2, 3])
  }
}
