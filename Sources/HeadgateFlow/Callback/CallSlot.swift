import HeadgateThreads

/// Where the end of a call is put for one who waits, a thread or a task. Who comes first decides: the end or the one who
/// stops waiting; an end that is there is never thrown away for a deadline that has passed meanwhile.
final class CallSlot<Success: Sendable, Failure: Error>: Sendable {
  private struct State {
    var end: CallEnd<Success, Failure>?
    var isClosed = false
    var waiter: Waiter?
  }

  private let state = Locked(State())

  /// The end has come. False: nobody waits any more.
  func put(_ end: CallEnd<Success, Failure>) -> Bool {
    let (isTaken, waiter) = state.withLock { state -> (Bool, Waiter?) in
      guard !state.isClosed else { return (false, nil) }
      state.end = end
      return (true, state.waiter.take())
    }
    waiter?.end(.woken)
    return isTaken
  }

  /// Has a waiter woken when the end comes. False: it is there.
  func listen(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return false }
      state.waiter = waiter
      return true
    }
  }

  /// Stops waiting; the end, if it has come.
  func close() -> CallEnd<Success, Failure>? {
    let (end, _) = state.withLock { state -> (CallEnd<Success, Failure>?, Waiter?) in
      state.isClosed = true
      return (state.end.take(), state.waiter.take())
    }
    return end
  }
}
