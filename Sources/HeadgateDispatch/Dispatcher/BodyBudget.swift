import HeadgateThreads

/// Bounds the total memory of the response bodies that a dispatcher collects, by pausing some transfers.
///
/// A paused transfer counts as waiting, like a wait for a socket: all time limits of the request except `deadline`
/// stop.
final class BodyBudget: Sendable {
  /// Bodies up to this size in bytes are not counted, so that most responses never touch the shared state.
  static let uncounted = 64 * 1024

  private struct State {
    var ledger: BodyLedger
    // The counted operations. Each is removed when it ends, which always happens.
    var operations: [Int: DispatchOperation] = [:]
  }

  private let state: Locked<State>

  init(limit: Int) { state = Locked(State(ledger: BodyLedger(limit: limit))) }

  /// Registers a body that has become large enough to be counted. Returns its number in the ledger.
  func enter(_ operation: DispatchOperation) -> Int {
    let isLong = operation.state.withLock { $0.lane == .long }
    return state.withLock { state in
      let number = state.ledger.enter(isLong: isLong)
      state.operations[number] = operation
      return number
    }
  }

  /// Adds `count` bytes to a body. Returns whether its transport continues or pauses.
  func add(_ count: Int, to number: Int, of operation: DispatchOperation) -> BodyFlow {
    guard state.withLock({ $0.ledger.add(count, to: number) }) else { return .more }
    operation.waitStarted(for: .memory)
    // Another body may have ended, and resumed this one, before `waitStarted(for:)` recorded the wait.
    if state.withLock({ $0.ledger.isPaused(number) }) { return .pause }
    operation.waitEnded(for: .memory)
    return .more
  }

  /// Removes a body that has ended, and resumes the ones for which there is room now.
  func leave(_ number: Int) {
    let (ended, going) = state.withLock { state in
      let going = state.ledger.leave(number)
      return (state.operations.removeValue(forKey: number), going.compactMap { state.operations[$0] })
    }
    _ = consume ended
    for operation in going {
      operation.waitEnded(for: .memory)
      operation.resume()
    }
  }

  /// The number of bytes counted now.
  var bytes: Int { state.withLock { $0.ledger.bytes } }
}
