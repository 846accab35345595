/// The ticks of a clock as an asynchronous sequence. Created by ``TimerService/ticks(_:startingAt:)``.
public struct TimerTicks: AsyncSequence, Sendable {
  let timers: any TimerService
  let repetition: TimerRepetition
  let first: Deadline

  /// Creates an iterator. All iterators have the same first tick.
  public func makeAsyncIterator() -> Iterator { Iterator(ticks: self) }

  /// Waits for one tick after another.
  public struct Iterator: AsyncIteratorProtocol {
    let ticks: TimerTicks
    private var last: Deadline?

    init(ticks: TimerTicks) { self.ticks = ticks }

    /// Suspends until the next tick, and returns the time for which it was due. Returns nil if the task was cancelled or
    /// the timer thread was disposed of.
    public mutating func next() async -> Deadline? { await next(isolation: nil) }

    /// The same, without leaving the caller's actor.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Deadline? {
      let timers = ticks.timers
      let next = last.map { ticks.repetition.next(after: $0, endedAt: timers.now).deadline } ?? ticks.first
      do { try await timers.sleep(until: next, tolerance: nil) } catch { return nil }
      last = next
      return next
    }
  }
}

extension TimerService {
  /// The ticks of a repetition, for a loop in a task.
  ///
  ///     for await _ in TimerThread.shared.ticks(.rate(.seconds(1))) { await poll() }
  ///
  /// Ticks never overlap: the next one is determined when the loop asks for it. A rate has no drift, and skips the ticks
  /// that pass meanwhile, unless its ``TimerRepetition/MissedTicks`` say otherwise. Each loop has its own ticks. The loop
  /// ends when its task is cancelled, or when the timer thread is disposed of.
  ///
  /// - Parameters:
  ///   - repetition: A rate or a delay. An interval of zero or less counts as one nanosecond.
  ///   - first: The time of the first tick; nil for one interval from now.
  /// - Returns: The times for which the ticks were due.
  public func ticks(_ repetition: TimerRepetition, startingAt first: Deadline? = nil) -> TimerTicks {
    let repetition = repetition.positive
    return TimerTicks(timers: self, repetition: repetition, first: first ?? now + repetition.interval)
  }
}
