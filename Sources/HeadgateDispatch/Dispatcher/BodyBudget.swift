import HeadgateThreads

/// Bounds the total memory of the response bodies that a dispatcher collects, by pausing some transfers.
///
/// A paused transfer counts as waiting, like a wait for a socket: all time limits of the request except `deadline`
/// stop.
final class BodyBudget: Sendable {
  /// Bodies up to this size in bytes are not counted, so that most responses never touch the shared state.
  static let uncounted = 64 * 1024

  // Each counted operation is removed when it ends, which always happens.
  private let ledger: Locked<BodyLedger<URLDispatchOperation>>

  init(limit: Int) { ledger = Locked(BodyLedger(limit: limit)) }

  /// Notes the size in bytes that an operation's body has reached. Returns whether its transport continues or pauses.
  func note(_ size: Int, of operation: DispatchOperation) -> BodyFlow {
    let owner = URLDispatchOperation(operation: operation)
    let isPaused = ledger.withLock { ledger in
      // Read under this lock: `becameLong` then either finds the body or comes before this line.
      let isLong = operation.state.withLock { $0.lane == .long }
      return ledger.note(size, of: owner, isLong: isLong)
    }
    guard isPaused else { return .more }
    operation.waitStarted(for: .memory)
    // Another body may have ended, and resumed this one, before `waitStarted(for:)` recorded the wait.
    if ledger.withLock({ $0.isPaused(owner) }) { return .pause }
    operation.waitEnded(for: .memory)
    return .more
  }

  /// Removes the body of an operation, and resumes the ones for which there is room now.
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
