import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// How long a test waits for an expected event, before it fails instead of hanging.
var generous: Deadline { .after(.seconds(60)) }

struct Oops: Error, Equatable {
  var number = 0

  /// The error of a function that heeds its cancellation.
  static let cancelled = Oops(number: -1)
}

/// Events in their order. A test may wait for a number of them.
final class Record<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var waiters: [(count: Int, waiter: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  var events: [Event] { state.withLock { $0.events } }

  func add(_ event: Event) {
    let ready = state.withLock { state in
      state.events.append(event)
      let ready = state.waiters.filter { $0.count <= state.events.count }
      state.waiters.removeAll { $0.count <= state.events.count }
      return ready
    }
    for one in ready { one.waiter.resume() }
  }

  func wait(for count: Int) async {
    await withContinuation { continuation in
      let isThere = state.withLock { state in
        if state.events.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }
}

/// Counts the living tokens, which are results that must be destroyed.
final class Census: Sendable {
  final class Token: Sendable {
    let number: Int
    private let census: Census

    fileprivate init(_ census: Census, _ number: Int) {
      self.census = census
      self.number = number
      census.count.withLock { $0 += 1 }
    }

    deinit {
      census.count.withLock { $0 -= 1 }
      census.gone.add(number)
    }
  }

  /// The numbers of destroyed tokens.
  let gone = Record<Int>()
  private let count = Locked(0)

  var alive: Int { count.withLock { $0 } }

  func token(_ number: Int = 0) -> Token { Token(self, number) }
}

/// Runs a blocking body on a separate thread, and returns its result.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await ManagedThread.spawn(name: "test-body") { Result { try body() } }.value().get()
}

/// A blocking body that runs on a separate thread.
func startThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) throws -> ManagedThread<Result<Value, any Error>, Never> {
  try ManagedThread.spawn(name: "test-body") { Result { try body() } }
}

// MARK: Errors

/// An end as a word, for every kind of error.
struct EndCode: Hashable, CustomStringConvertible {
  let description: String

  static let cancelled = EndCode(description: "cancelled")
  static let timedOut = EndCode(description: "timed_out")
  static let failed = EndCode(description: "failed")
  static let allFailed = EndCode(description: "all_failed")
  static let quorumMissed = EndCode(description: "quorum_missed")
  static let attemptsExhausted = EndCode(description: "attempts_exhausted")
  static let completionReleased = EndCode(description: "completion_released")
  static let undeliverable = EndCode(description: "undeliverable")
  static let noInput = EndCode(description: "no_input")
  static let invalidArgument = EndCode(description: "invalid_argument")
  static let wouldDeadlock = EndCode(description: "would_deadlock")
  static let onCooperativeThread = EndCode(description: "on_cooperative_thread")

  init(description: String) { self.description = description }

  init(_ error: any Error) {
    description =
      switch error {
      case is CancellationError: "cancelled"
      case let error as any HeadgateError: error.codeName
      default: "\(error)"
      }
  }
}

extension FlowError {
  var oops: Oops? { failure as? Oops }
  var oopses: [Oops] { failures.compactMap { $0 as? Oops } }
}

/// The code of the error that a body throws.
func flowCode<Value>(_ body: () throws -> Value) -> EndCode? { code(of: Result { try body() }) }

func flowValue<Value>(_ body: () throws -> Value) -> Value? { try? body() }

func codeOnThread<Value>(_ body: @escaping @Sendable () throws -> Value) async throws -> EndCode? {
  try await onThread { flowCode(body) }
}

func error<Value, Failure>(of result: Result<Value, Failure>) -> (any Error)? {
  if case .failure(let error) = result { error } else { nil }
}

func flowError<Value, Failure>(_ result: Result<Value, Failure>) -> FlowError? { error(of: result) as? FlowError }

func code<Value, Failure>(of result: Result<Value, Failure>) -> EndCode? { error(of: result).map(EndCode.init) }
