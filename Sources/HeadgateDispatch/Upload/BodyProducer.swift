import HeadgateThreads

/// Brings a body piece by piece, one for each time that it is asked.
protocol BodyProducer: AnyObject, Sendable {
  /// Brings the next piece, or the end, or a fault, to the feed: once, on any thread.
  func ask(_ feed: BodyFeed)

  /// No more is wanted. What is on its way is passed over.
  func stop()
}

/// Where a producer brings its pieces.
struct BodyFeed: Sendable {
  let source: RequestBodySource
  let generation: Int

  func put(_ piece: [UInt8], last: Bool = false) { source.put(piece, last: last, of: generation) }
  func end() { source.end(of: generation) }
  func fail(_ error: any Error) { source.fail(error, of: generation) }
}

/// Stands for the producer of a body from memory, which has none to be asked.
final class NoProducer: BodyProducer {
  func ask(_ feed: BodyFeed) {}
  func stop() {}
}

/// Says that what can be had once was had.
final class SingleUse: Sendable {
  private let used = Locked(false)

  var isUsed: Bool { used.withLock { $0 } }

  /// True for the first caller.
  func take() -> Bool {
    used.withLock { used in
      defer { used = true }
      return !used
    }
  }
}

/// A sequence of pieces as a body has it.
struct BodySequence: Sendable {
  let length: Int64?
  /// Nil for a sequence that is made anew each time.
  let use: SingleUse?
  private let pieces: any BodyPieces

  init<Pieces: AsyncSequence>(
    length: Int64?, use: SingleUse?, _ make: @escaping @Sendable () -> Pieces
  ) where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    self.length = length
    self.use = use
    pieces = Making(make: make)
  }

  /// Brings the producer a piece whenever it is asked for one.
  func iterate(_ producer: SequenceProducer) async {
    guard let first = await producer.asked() else { return }
    guard use?.take() ?? true else {
      return first.fail(DispatchError(.bodyNotReplayable, phase: .sending, detail: "its sequence was used before"))
    }
    do { try await pieces.bring(producer, first) } catch { producer.failed(error) }
  }
}

/// A sequence whatever its type.
private protocol BodyPieces: Sendable {
  func bring(_ producer: SequenceProducer, _ first: BodyFeed) async throws
}

private struct Making<Pieces: AsyncSequence>: BodyPieces
where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
  let make: @Sendable () -> Pieces

  func bring(_ producer: SequenceProducer, _ first: BodyFeed) async throws {
    var feed = first
    var iterator = make().makeAsyncIterator()
    while let piece = try await iterator.next() {
      feed.put(Array(piece))
      guard let next = await producer.asked() else { return }
      feed = next
    }
    feed.end()
  }
}

/// Iterates a sequence in a task, which rests until it is asked for more.
final class SequenceProducer: BodyProducer {
  private struct State {
    var task: Task<Void, Never>?
    var isStarted = false
    var isStopped = false
    // Asked and not answered yet.
    var feed: BodyFeed?
    // What the task has been asked for and works at.
    var current: BodyFeed?
    var resting: CheckedContinuation<Void, Never>?
  }

  private let sequence: BodySequence
  private let state = Locked(State())

  init(_ sequence: BodySequence) { self.sequence = sequence }

  func ask(_ feed: BodyFeed) {
    let (resting, starts) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
      guard !state.isStopped else { return (nil, false) }
      if let resting = state.resting.take() {
        state.current = feed
        return (resting, false)
      }
      state.feed = feed
      defer { state.isStarted = true }
      return (nil, !state.isStarted)
    }
    resting?.resume()
    if starts { start() }
  }

  private func start() {
    let task = Task { await sequence.iterate(self) }
    let isStopped = state.withLock { state in
      if !state.isStopped { state.task = task }
      return state.isStopped
    }
    if isStopped { task.cancel() }
  }

  func stop() {
    let (task, resting) = state.withLock { state in
      state.isStopped = true
      (state.feed, state.current) = (nil, nil)
      return (state.task.take(), state.resting.take())
    }
    task?.cancel()
    resting?.resume()
  }

  // MARK: The task's side

  /// Suspends until a piece is wanted. Nil: none ever will be.
  func asked() async -> BodyFeed? {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isKnown = state.withLock { state in
        if state.isStopped { return true }
        state.current = state.feed.take()
        if state.current == nil { state.resting = continuation }
        return state.current != nil
      }
      if isKnown { continuation.resume() }
    }
    return state.withLock { $0.current }
  }

  /// The sequence threw.
  func failed(_ error: any Error) {
    let feed = state.withLock { $0.current.take() }
    feed?.fail(error)
  }
}
