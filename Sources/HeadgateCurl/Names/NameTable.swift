import DequeModule
import HeadgateThreads

/// The names that were asked for: one look-up for each at a time, no more at once than ``atOnce``, and the answers for a
/// while. Time comes in as an argument; `Waiter` is whatever the driver wants back with an answer.
///
/// Each event is O(1) on average. A name costs memory while it is looked up, and while its answer is kept: of those no more
/// than ``mostKept``, the eldest gives way.
struct NameTable<Waiter: Sendable>: Sendable {
  /// What a question leads to.
  enum Reply: Sendable {
    case known(NameAnswer)
    /// The waiter gets the answer.
    case waits
    /// The same, and the driver looks the name up now.
    case begins
  }

  /// How long addresses are kept. The resolver does not tell the time that the servers allow.
  static var addressLife: Duration { .seconds(60) }
  /// How long it is kept that a name does not exist.
  static var absenceLife: Duration { .seconds(30) }
  /// How long another failure is kept: for the requests that come back at once with the same question.
  static var failureLife: Duration { .seconds(1) }

  private enum Entry {
    case lookedUp([Waiter])
    case answered(NameAnswer, until: Deadline)
  }

  let atOnce: Int
  let mostKept: Int
  private var entries: [String: Entry] = [:]
  private var queue: Deque<String> = []
  // Answers in the order in which they came. One that was replaced is passed over by its time.
  private var kept: Deque<(name: String, until: Deadline)> = []
  /// Look-ups under way.
  private(set) var running = 0

  init(atOnce: Int, mostKept: Int = 16_384) {
    self.atOnce = atOnce
    self.mostKept = mostKept
  }

  /// Names that are known, looked up or in the queue.
  var count: Int { entries.count }

  /// The answer for a name; nil if it has to be looked up.
  func answer(for name: String, at now: Deadline) -> NameAnswer? {
    guard case .answered(let answer, let until)? = entries[name], now < until else { return nil }
    return answer
  }

  /// Who asked for a name first that is not known yet.
  func firstWaiter(for name: String) -> Waiter? {
    if case .lookedUp(let waiters)? = entries[name] { return waiters.first }
    return nil
  }

  /// Somebody needs a name.
  mutating func ask(_ name: String, _ waiter: Waiter, at now: Deadline) -> Reply {
    switch entries[name] {
    case .lookedUp(var waiters)?:
      // In place: without this, each waiter would copy those before it.
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

  /// A look-up has ended. Returns who waits for it, and the name that is looked up next.
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
