// The rules of a concurrent map over a source that brings its elements one by one, as a value: who may pull, who takes
// what, and when it is over.

import DequeModule

/// How far a concurrent map has come: what was pulled and is not taken yet never exceeds the limit.
struct MapWindow<Output, Failure: Error> {
  /// What the taker gets.
  enum Taken {
    case output(Output, index: Int)
    case failure(FlowErrorCode, Failure?, index: Int, underlying: (any Error)?)
    /// All was taken.
    case end
    /// Nothing yet.
    case wait
  }

  private enum Source {
    case open
    case exhausted
    case failed(any Error)
  }

  let limit: Int
  let isOrdered: Bool

  private var source = Source.open
  /// Elements that were pulled, and results that were taken.
  private(set) var pulled = 0
  private(set) var taken = 0
  /// What is being transformed.
  private(set) var running = 0
  // What has ended and was not taken: in order by number, else in the order of the ends.
  private var ended: [Int: Result<Output, Failure>] = [:]
  private var line: Deque<(Int, Result<Output, Failure>)> = []
  /// A failure ends it: nothing is pulled any more, and after it nothing is given.
  private(set) var isStopped = false
  private var isOver = false

  init(limit: Int, isOrdered: Bool) {
    self.limit = limit
    self.isOrdered = isOrdered
  }

  /// Whether an element may be pulled from the source now.
  var mayPull: Bool {
    guard case .open = source, !isStopped else { return false }
    return pulled - taken < limit
  }

  /// Whether the one who pulls has nothing to do any more, whatever is taken.
  var needsNoPull: Bool {
    if case .open = source { isStopped } else { true }
  }

  /// An element has come and its transform starts. Returns its number.
  mutating func pull() -> Int {
    defer { pulled += 1 }
    running += 1
    return pulled
  }

  /// The source has no more elements, or fails.
  mutating func endSource(_ error: (any Error)?) { source = error.map { .failed($0) } ?? .exhausted }

  /// A transform has ended. Returns its result if nobody will take it any more.
  mutating func end(_ index: Int, _ result: Result<Output, Failure>) -> Result<Output, Failure>? {
    running -= 1
    guard !isOver else { return result }
    if case .failure = result { isStopped = true }
    if isOrdered { ended[index] = result } else { line.append((index, result)) }
    return nil
  }

  /// What comes next for the taker. After a failure or the end: the end.
  mutating func take() -> Taken {
    guard !isOver else { return .end }
    if let (index, result) = takeEnded() {
      taken += 1
      switch result {
      case .success(let output): return .output(output, index: index)
      case .failure(let failure):
        isOver = true
        return .failure(.failed, failure, index: index, underlying: nil)
      }
    }
    guard running == 0, pulled == taken else { return .wait }
    switch source {
    // A failure that is to come has been pulled, so what is stopped here was stopped from outside.
    case .open: return .wait
    case .exhausted:
      isOver = true
      return .end
    case .failed(let error):
      isOver = true
      return .failure(.sourceFailed, nil, index: pulled, underlying: error)
    }
  }

  private mutating func takeEnded() -> (Int, Result<Output, Failure>)? {
    isOrdered ? ended.removeValue(forKey: taken).map { (taken, $0) } : line.popFirst()
  }

  /// How many results it holds: no more than the limit, however long it goes on.
  var places: Int { ended.count + line.count }

  /// It is ended from outside. Returns the results that nobody takes any more.
  mutating func stop() -> [Result<Output, Failure>] {
    isStopped = true
    isOver = true
    let rest = ended.values.map { $0 } + line.map { $0.1 }
    (ended, line) = ([:], [])
    return rest
  }
}

extension MapWindow: Sendable where Output: Sendable {}
extension MapWindow.Taken: Sendable where Output: Sendable {}
