// The rules of a concurrent map over a source that delivers its elements one by one, as a value: when to pull, which
// result to return, and when the map has ended.

/// The progress of a concurrent map. The number of elements pulled but not taken never exceeds the limit.
struct MapWindow<Output> {
  /// The answer to a consumer.
  enum Taken {
    case output(Output, index: Int)
    case failure(any Error, index: Int)
    /// The source failed; all earlier results were taken.
    case sourceFailed(any Error)
    /// All results were taken.
    case end
    /// No result is available yet.
    case wait
  }

  let limit: Int
  let isOrdered: Bool
  /// Whether a failure of the source ends the map at once, before the transforms that are in progress.
  let failsFast: Bool

  // How the source has ended; nil before its end.
  private var sourceEnd: Result<Void, any Error>?
  /// The numbers of elements pulled and of results taken.
  private(set) var pulled = 0
  private(set) var taken = 0
  /// The number of transforms in progress.
  private(set) var running = 0
  // Results not yet taken, by the number of results before them: in the order of the elements, or of completion.
  private var ended: [Int: (index: Int, result: Result<Output, any Error>)] = [:]
  /// Set by a failure: nothing more is pulled, and the failure is the last result.
  private(set) var isStopped = false
  private var isOver = false

  init(limit: Int, isOrdered: Bool, failsFast: Bool = false) {
    (self.limit, self.isOrdered, self.failsFast) = (limit, isOrdered, failsFast)
  }

  /// Whether an element may be pulled from the source now.
  var mayPull: Bool { !needsNoPull && pulled - taken < limit }

  /// Whether the puller has finished, whatever the consumer takes.
  var needsNoPull: Bool { isStopped || sourceEnd != nil }

  /// An element has arrived and its transform starts. Returns its number.
  mutating func pull() -> Int {
    defer { pulled += 1 }
    running += 1
    return pulled
  }

  /// The source has no more elements, or fails.
  mutating func endSource(_ error: (any Error)?) { sourceEnd = error.map { .failure($0) } ?? .success(()) }

  /// A transform has ended. Returns its result if it comes too late.
  mutating func end(_ index: Int, _ result: Result<Output, any Error>) -> Result<Output, any Error>? {
    running -= 1
    guard !isOver else { return result }
    if case .failure = result { isStopped = true }
    ended[isOrdered ? index : pulled - running - 1] = (index, result)
    return nil
  }

  /// The next result for the consumer. After a failure or the end, always the end.
  mutating func take() -> Taken {
    guard !isOver else { return .end }
    if let (index, result) = ended.removeValue(forKey: taken) {
      taken += 1
      switch result {
      case .success(let output): return .output(output, index: index)
      case .failure(let failure):
        isOver = true
        return .failure(failure, index: index)
      }
    }
    if failsFast, case .failure(let error)? = sourceEnd {
      isOver = true
      return .sourceFailed(error)
    }
    guard running == 0, pulled == taken else { return .wait }
    switch sourceEnd {
    // A pending failure would count as pulled, so the map was stopped from outside.
    case nil: return .wait
    case .success:
      isOver = true
      return .end
    case .failure(let error):
      isOver = true
      return .sourceFailed(error)
    }
  }

  /// The number of results held: never more than the limit.
  var places: Int { ended.count }

  /// Stops the map from outside. Returns the results that were not taken.
  mutating func stop() -> [Result<Output, any Error>] {
    isStopped = true
    isOver = true
    defer { ended = [:] }
    return ended.values.map(\.result)
  }
}

extension MapWindow: Sendable where Output: Sendable {}
extension MapWindow.Taken: Sendable where Output: Sendable {}
