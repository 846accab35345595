import HeadgateThreads

/// A concurrent map in progress: one task pulls from the source and starts a child task for each element, another takes
/// the results. The first one waits while as many elements as the limit allows are running or not yet taken.
final class ConcurrentMap<Output: Sendable>: Sendable {
  typealias Window = MapWindow<Output>

  private let window: Locked<Window>
  /// Set when the pulling task has ended.
  private let pulled = OneShot<Void>()
  /// Notified when the puller, or the taker, may find a change.
  private let mayPullMore = Notify()
  private let mayTakeMore = Notify()
  private let discard: (@Sendable (Output) -> Void)?
  private let start = Deadline.now

  init(limit: Int, isOrdered: Bool, failsFast: Bool = false, discard: (@Sendable (Output) -> Void)?) {
    window = Locked(Window(limit: limit, isOrdered: isOrdered, failsFast: failsFast))
    self.discard = discard
  }

  // MARK: The source's side

  /// Pulls all elements and transforms them in child tasks; ends when all of them have ended. It runs in a separate
  /// task, which is cancelled to stop it early.
  func pull<Base: AsyncSequence>(
    _ base: Base, _ transform: @escaping @Sendable (Base.Element) async throws -> Output
  ) async where Base.Element: Sendable {
    await withDiscardingTaskGroup { group in
      var iterator = base.makeAsyncIterator()
      while await mayPull() {
        do {
          guard let element = try await iterator.next() else {
            endSource(nil)
            break
          }
          // A source that ignores its cancellation may deliver an element after the end.
          let number = window.withLock { $0.mayPull ? $0.pull() : nil }
          guard let index = number else { break }
          group.addTask {
            do {
              // If it is cancelled before it runs, the transform is not started.
              try Task.checkCancellation()
              self.end(index, .success(try await transform(element)))
            } catch {
              self.end(index, .failure(error))
            }
          }
        } catch {
          endSource(error)
          break
        }
      }
    }
    pulled.set()
  }

  /// Suspends until another element may be pulled. Returns false if no more are needed.
  private func mayPull() async -> Bool {
    while !Task.isCancelled {
      let (mayPull, needsNoPull) = window.withLock { ($0.mayPull, $0.needsNoPull) }
      if mayPull || needsNoPull { return mayPull }
      try? await mayPullMore.wait()
    }
    return false
  }

  private func endSource(_ error: (any Error)?) { event { $0.endSource(error) } }

  private func end(_ index: Int, _ result: Result<Output, any Error>) {
    var leftover: Result<Output, any Error>?
    event { leftover = $0.end(index, result) }
    if case .success(let output)? = leftover { discard?(output) }
  }

  /// Applies an event, and wakes the tasks that it may concern.
  private func event(_ change: (inout Window) -> Void) {
    window.withLock { change(&$0) }
    mayPullMore.notifyOne()
    mayTakeMore.notifyOne()
  }

  // MARK: The results' side

  /// The next result and its element's number; nil after the last, and after an error.
  nonisolated(nonsending) func next() async throws -> (index: Int, output: Output)? {
    while true {
      // Not only where it waits: results that are ready would keep a cancelled loop going.
      if Task.isCancelled {
        stop()
        throw CancellationError()
      }
      switch window.withLock({ $0.take() }) {
      case .output(let output, let index):
        mayPullMore.notifyOne()
        return (index, output)
      case .end: return nil
      case .failure(let failure, let index):
        // A cancellation just now may have caused it.
        if Task.isCancelled { throw CancellationError() }
        throw FlowError(
          .failed, failures: [failure], inputs: [index], deciding: 0, operation: "mapConcurrently",
          waited: .now - start)
      case .sourceFailed(let error):
        if Task.isCancelled { throw CancellationError() }
        throw FlowError(
          .sourceFailed, operation: "mapConcurrently", waited: .now - start, underlyingError: error)
      case .wait:
        do {
          try await mayTakeMore.wait()
        } catch {
          stop()
          throw error
        }
      }
    }
  }

  /// Called when no more results will be taken.
  func stop() {
    var rest: [Result<Output, any Error>] = []
    event { rest = $0.stop() }
    for case .success(let output) in rest { discard?(output) }
  }

  /// Called when the pulling task is not waited for either: it counts as abandoned until it has ended.
  func abandon() {
    stop()
    guard pulled.value == nil else { return }
    AbandonedCount.process.begin()
    pulled.whenSet { _ in AbandonedCount.process.end() }
  }
}

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
