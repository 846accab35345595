@testable import HeadgateThreads

struct TimerCallFailure: Error, Equatable {}

/// A clock, its calls, and the reports.
final class TimerCallsBench: Sendable {
  let clock = StillClock()
  let calls: TimerCalls
  let errors = Record<String>()
  let log = Record<String>()

  init(limit: Int? = nil) {
    let errors = errors
    calls = TimerCalls(name: "bench", limit: limit) { error, _ in errors.add("\(type(of: error))") }
  }

  func start(
    after nanoseconds: Int, place: Delivery = .inline, repetition: TimerRepetition? = nil, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws -> TimerHandle {
    try calls.start(
      on: clock, at: clock.now + .nanoseconds(nanoseconds), place: place, repetition: repetition, owner: owner,
      key: key,
      body, onDrop: onDrop)
  }

  func advance(_ nanoseconds: Int) { clock.advance(by: .nanoseconds(nanoseconds)) }
}

/// A target that keeps its calls until the test makes or drops them.
final class Shelf: Sendable {
  let calls = Locked<[TimerQueue.Action]>([])
  let isClosed = Locked(false)

  var target: Delivery {
    .submitting { [self] call in
      if isClosed.withLock({ $0 }) { throw TimerCallFailure() }
      calls.withLock { $0.append(TimerQueue.Action(call)) }
    }
  }

  func take() -> [TimerQueue.Action] {
    calls.withLock { calls in
      defer { calls = [] }
      return calls
    }
  }
}
