import HeadgateThreads

/// Bounds the total memory of the response bodies that a dispatcher collects, or keeps for interceptors, by pausing some
/// transfers.
///
/// A paused transfer counts as waiting, like a wait for a socket: all time limits of the request except `deadline`
/// stop. The `timeout` of a response that is kept for interceptors runs on, though. That response waits for reviews, with
/// its permit. A review may wait for a permit in turn, so something must end such a wait.
final class BodyBudget: Sendable {
  /// Bodies up to this size in bytes are not counted, so that most responses never touch the shared state.
  static let uncounted = 64 * 1024
  /// Bodies up to this size are kept for interceptors without being counted. They take about as much as the requests and
  /// heads that are kept with them.
  static let uncountedKept = 4 * 1024

  // Each counted operation is removed when it ends, which always happens.
  private let ledger: Locked<BodyLedger<URLDispatchOperation>>

  init(limit: Int) { ledger = Locked(BodyLedger(limit: limit)) }

  /// Notes the size in bytes that an operation's body has reached. Returns whether its transport continues or pauses.
  func note(_ size: Int, of operation: DispatchOperation) -> BodyFlow {
    let owner = URLDispatchOperation(operation: operation)
    let isPaused = ledger.withLock { ledger in
      // Read under this lock: `becameLong` then either finds the body or comes before this line.
      let isLong = operation.state.withLock { $0.lane == .long }
      return ledger.note(size, of: owner, as: isLong ? .long : .short)
    }
    guard isPaused else { return .more }
    operation.waitStarted(for: .memory)
    // Another body may have ended, and resumed this one, before `waitStarted(for:)` recorded the wait.
    if ledger.withLock({ $0.isPaused(owner) }) { return .pause }
    operation.waitEnded(for: .memory)
    return .more
  }

  /// Notes the size in bytes that a body has reached that is kept for interceptors. Returns whether its transport
  /// continues or pauses.
  func keep(_ size: Int, of operation: DispatchOperation) -> BodyFlow {
    guard size > Self.uncountedKept else { return .more }
    let owner = URLDispatchOperation(operation: operation)
    let isPaused = ledger.withLock { $0.note(size, of: owner, as: .kept) }
    let isDecided = operation.state.withLock { state in
      if isPaused { state.exchange?.isPaused = true }
      return state.isDecided
    }
    // The request's end may have come before the note.
    if isDecided {
      leave(operation)
      return .abort
    }
    guard isPaused else { return .more }
    // A review may have ended, and resumed this body, before the pause was recorded.
    if ledger.withLock({ $0.isPaused(owner) }) { return .pause }
    operation.state.withLock { $0.exchange?.isPaused = false }
    return .more
  }

  /// Removes the body of an operation, if it is counted, and resumes the ones for which there is room now.
  func leave(_ operation: DispatchOperation) {
    resume(ledger.withLock { $0.leave(URLDispatchOperation(operation: operation)) })
  }

  /// Notes that an operation was moved to the long lane. It no longer keeps short ones waiting for its memory.
  func becameLong(_ operation: DispatchOperation) {
    resume(ledger.withLock { $0.becameLong(URLDispatchOperation(operation: operation)) })
  }

  private func resume(_ owners: [URLDispatchOperation]) {
    for owner in owners {
      owner.operation.waitEnded(for: .memory)
      owner.operation.resume()
    }
  }

  /// The number of bytes counted now.
  var bytes: Int { ledger.withLock { $0.bytes } }
}
