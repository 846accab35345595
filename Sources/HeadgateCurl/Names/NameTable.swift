import DequeModule
import HeadgateThreads

/// The requested names: each is looked up once at a time, at most ``atOnce`` names concurrently, and answers are kept
/// for a while. Time is an argument. `Waiter` is whatever the driver wants back with an answer.
///
/// Each event is O(1) on average. A name takes memory while it is looked up and while its answer is kept. At most
/// ``mostKept`` answers are kept; beyond that the oldest is dropped.
struct NameTable<Waiter: Sendable>: Sendable {
  /// The result of a query.
  enum Reply: Sendable {
    case known(NameAnswer)
    /// The waiter will get the answer.
    case waits
    /// The waiter will get the answer, and the driver must look the name up now.
    case begins
  }

  /// How long addresses are kept. The resolver does not report the servers' time to live.
  static var addressLife: Duration { .seconds(60) }
  /// How long the non-existence of a name is kept.
  static var absenceLife: Duration { .seconds(30) }
  /// How long another failure is kept, for requests that return immediately with the same query.
  static var failureLife: Duration { .seconds(1) }

  private enum Entry {
    case lookedUp([Waiter])
    case answered(NameAnswer, until: Deadline)
  }

  let atOnce: Int
  let mostKept: Int
  private var entries: [String: Entry] = [:]
  private var queue: Deque<String> = []
  // Answers in the order of arrival. A replaced one is recognized by its time and skipped.
  private var kept: Deque<(name: String, until: Deadline)> = []
  /// The number of look-ups in progress.
  private(set) var running = 0

  init(atOnce: Int, mostKept: Int = 16_384) {
    self.atOnce = atOnce
    self.mostKept = mostKept
  }

  /// The number of names that are known, being looked up or queued.
  var count: Int { entries.count }

  /// The answer for a name. Nil if it must be looked up.
  func answer(for name: String, at now: Deadline) -> NameAnswer? {
    guard case .answered(let answer, let until)? = entries[name], now < until else { return nil }
    return answer
  }

  /// The first waiter for a name that is not known yet.
  func firstWaiter(for name: String) -> Waiter? {
    if case .lookedUp(let waiters)? = entries[name] { return waiters.first }
    return nil
  }

  /// A waiter needs a name.
  mutating func ask(_ name: String, _ waiter: Waiter, at now: Deadline) -> Reply {
    switch entries[name] {
    case .lookedUp(var waiters)?:
      // Modified in place: otherwise each waiter would copy the ones before it.
      entries[name] = nil
      waiters.append(waiter)
      entries[name] = .lookedUp(waiters)
      return .waits
    case .answered(let answer, let until)? where now < until: return .known(answer)
    case .answered?, nil:
      entries[name] = .lookedUp([waiter])
      guard running < atOnce else {
        queue.append(name)
        return .waits
      }
      running += 1
      return .begins
    }
  }

  /// A look-up has ended. Returns its waiters, and the name to look up next.
  mutating func answered(_ name: String, _ answer: NameAnswer, at now: Deadline) -> (waiters: [Waiter], next: String?) {
    guard case .lookedUp(let waiters)? = entries[name] else { return ([], nil) }
    let until = now + Self.life(of: answer)
    entries[name] = .answered(answer, until: until)
    kept.append((name, until))
    forget(at: now)
    let next = queue.popFirst()
    if next == nil { running -= 1 }
    return (waiters, next)
  }

  private static func life(of answer: NameAnswer) -> Duration {
    switch answer {
    case .addresses: addressLife
    case .failed(let failure): failure.isAuthoritative ? absenceLife : failureLife
    }
  }

  private mutating func forget(at now: Deadline) {
    while let (name, until) = kept.first, until <= now || kept.count > mostKept {
      kept.removeFirst()
      if case .answered(_, until)? = entries[name] { entries[name] = nil }
    }
  }
}
