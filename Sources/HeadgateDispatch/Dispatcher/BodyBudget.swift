import HeadgateThreads

/// Bounds the memory of all bodies that a dispatcher gathers: pauses the reading of some while there is too much.
///
/// A request whose body is paused waits as it does for a socket: its `timeout` rests, and so do its other limits on time
/// but the deadline.
final class BodyBudget: Sendable {
  /// Bodies up to this many bytes are not counted: most responses need no look at what all share.
  static let uncounted = 64 * 1024

  private struct State {
    var ledger: BodyLedger
    // Those that are counted. Each is taken out at its end, which always comes.
    var operations: [Int: DispatchOperation] = [:]
  }

  private let state: Locked<State>

  init(limit: Int) { state = Locked(State(ledger: BodyLedger(limit: limit))) }

  /// A body has become large enough to be counted. Returns its number here.
  func enter(_ operation: DispatchOperation) -> Int {
    let isLong = operation.state.withLock { $0.lane == .long }
    return state.withLock { state in
      let number = state.ledger.enter(isLong: isLong)
      state.operations[number] = operation
      return number
    }
  }

  /// A body has so many bytes more. Returns what its transport is to do next.
  func add(_ count: Int, to number: Int, of operation: DispatchOperation) -> BodyFlow {
    guard state.withLock({ $0.ledger.add(count, to: number) }) else { return .more }
    operation.waits(for: .memory)
    // The end of another one may have let it go on before it was noted that it waits.
    if state.withLock({ $0.ledger.isPaused(number) }) { return .pause }
    operation.goesOn(from: .memory)
    return .more
  }

  /// A body has ended.
  func leave(_ number: Int) {
    let (ended, going) = state.withLock { state in
      let going = state.ledger.leave(number)
      return (state.operations.removeValue(forKey: number), going.compactMap { state.operations[$0] })
    }
    _ = consume ended
    for operation in going {
      operation.goesOn(from: .memory)
      operation.resume()
    }
  }

  /// The bytes that are counted at this moment.
  var bytes: Int { state.withLock { $0.ledger.bytes } }
}
