import HeadgateThreads
import Testing

/// A blocking call on a separate thread, and its result.
final class Blocked<Value: Sendable>: Sendable {
  private let value = Locked<Value?>(nil)
  private let ended = Latch()
  private let started = Latch()
  private let thread = Locked<ThreadRecord?>(nil)

  init(_ body: @escaping @Sendable () -> Value) throws {
    _ = try WorkerThread(name: "test-blocked") { [self] in
      thread.withLock { $0 = .current }
      started.countDown()
      let result = body()
      value.withLock { $0 = result }
      ended.countDown()
      Changes.shared.note()
    }
    try #require(started.wait())
  }

  /// Waits for the call's result.
  func result() throws -> Value {
    try #require(ended.wait(), "the call did not come back")
    return try #require(value.withLock { $0 })
  }

  func cancel() { thread.withLock { $0 }?.cancel() }
}

/// The end of a queue's call, for comparison.
enum Ending: Hashable, Sendable {
  case value(Int)
  case done
  case error(WaitError.Code)
  /// `CancellationError`, as thrown to a task.
  case cancelledTask

  init(_ error: any Error) { self = (error as? WaitError).map { .error($0.code) } ?? .cancelledTask }
}

func ending(_ body: () throws(WaitError) -> Int) -> Ending {
  do throws(WaitError) { return .value(try body()) } catch { return .error(error.code) }
}

func ending(of body: () throws(WaitError) -> Void) -> Ending {
  do throws(WaitError) {
    try body()
    return .done
  } catch {
    return .error(error.code)
  }
}

func ending(_ body: () async throws -> Int) async -> Ending {
  do { return .value(try await body()) } catch { return Ending(error) }
}

func ending(of body: () async throws -> Void) async -> Ending {
  do {
    try await body()
    return .done
  } catch {
    return Ending(error)
  }
}

/// `#expect` does not support noncopyable values.
func expectAccepted<Element: ~Copyable>(
  _ result: consuming PutResult<Element>, at location: SourceLocation = #_sourceLocation
) {
  let isAccepted = result.isAccepted
  #expect(isAccepted, sourceLocation: location)
}

/// Runs its jobs when a test says so.
final class HeldExecutor: TaskExecutor {
  private let state = Locked<(jobs: [UnownedJob], isReleased: Bool)>(([], false))

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isReleased = state.withLock { state in
      if !state.isReleased { state.jobs.append(job) }
      return state.isReleased
    }
    if isReleased { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Runs all jobs, and from now on each further one at once, on the thread that brings it.
  func release() throws {
    state.withLock { $0.isReleased = true }
    try runAll()
  }

  /// Runs all jobs, including those that they add.
  func runAll() throws {
    try inThread { [self] in
      while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }
}

/// Starts a task, and returns when it is suspended for the first time.
func startUntilSuspended<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value
) throws -> Task<Value, any Error> {
  let executor = HeldExecutor()
  let task = Task(executorPreference: executor, operation: body)
  try executor.release()
  return task
}

/// A noncopyable element that is counted while it lives.
struct Parcel: ~Copyable, Sendable {
  let number: Int
  private let token: Census.Token

  init(_ number: Int, _ census: Census) {
    self.number = number
    token = census.token()
  }
}

/// The kinds of queues, for tests of their common behaviour.
enum Kind: CaseIterable, Sendable {
  case ring, blocks, longBound, one

  func make<Element: ~Copyable>(_: Element.Type = Element.self) throws -> BlockingQueue<Element> {
    switch self {
    case .ring: try BlockingQueue(capacity: 100)
    case .blocks: BlockingQueue()
    case .longBound: try BlockingQueue(capacity: 1 << 40)
    case .one: try BlockingQueue(capacity: 1)
    }
  }
}

/// A manual clock that makes due calls at once.
final class StandingClock: TimerService {
  private struct State: ~Copyable {
    var now = Deadline(nanoseconds: 1_000_000_000)
    var timers = TimerQueue()
  }

  private let state = Locked(State())

  var now: Deadline { state.withLock { $0.now } }
  var pendingCount: Int { state.withLock { $0.timers.count } }
  var nextDeadline: Deadline? { state.withLock { $0.timers.nextDeadline } }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    defer { Changes.shared.note() }
    return ScheduledTimer(service: self, key: state.withLock { $0.timers.insert(at: deadline, action) })
  }

  func cancel(_ timer: ScheduledTimer) -> Bool {
    defer { Changes.shared.note() }
    return state.withLock { $0.timers.remove(timer.key) } != nil
  }

  func advance(by duration: Duration) {
    state.withLock { $0.now = $0.now + duration }
    while let action = state.withLock({ state in state.timers.popDue(at: state.now) }) { action() }
  }
}

extension BlockingQueue {
  /// Takes one element from the first queue that has one.
  static func select(
    from queues: [BlockingQueue<Element>], until deadline: Deadline = .distantFuture
  ) throws(WaitError) -> (index: Int, element: Element) {
    try HeadgateThreads.select(cases(queues), until: deadline)
  }

  /// Takes one element from the first queue that has one.
  nonisolated(nonsending) static func select(
    from queues: [BlockingQueue<Element>], until deadline: Deadline = .distantFuture
  ) async throws -> (index: Int, element: Element) {
    try await HeadgateThreads.select(cases(queues), until: deadline)
  }

  private static func cases(_ queues: [BlockingQueue<Element>]) -> [SelectCase<(index: Int, element: Element)>] {
    queues.enumerated().map { index, queue in queue.onTake { (index, $0) } }
  }
}
