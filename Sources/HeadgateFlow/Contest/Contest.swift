// The common rule of allSucceed, allSettled, firstToSucceed, race, quorum and firstMatching, as a value. Given the
// events, it tells which function may start, when the outcome is decided, and what it is. No time, no threads, no
// closures.
//
// All six are a quorum. allSucceed needs as many successes as there are functions, firstToSucceed one. allSettled and
// race need the same numbers, but count failures as results too. firstMatching needs one success that matches.

/// Functions that start in order until the needed number has succeeded, or can no longer be reached.
struct Contest<Success: Sendable>: Sendable {
  typealias End = Result<Success, any Error>

  enum Verdict: Equatable, Sendable {
    /// The needed number has succeeded.
    case won
    /// Too few remain, since the function with this number ended.
    case lost(by: Int)
    /// Ended from outside.
    case cancelled
  }

  let count: Int
  let needed: Int
  private(set) var started = 0
  /// Once set, no further function starts, and running ones must be cancelled.
  private(set) var verdict: Verdict?
  /// The end of each function, as far as the outcome needs it.
  private(set) var ends: [End?]
  private var succeeded = 0
  private var failed = 0

  init(count: Int, needed: Int) {
    self.count = count
    self.needed = needed
    ends = Array(repeating: nil, count: count)
    if needed == 0 { verdict = .won }
  }

  /// The next function to start; nil if none may.
  mutating func start() -> Int? {
    guard verdict == nil, started < count else { return nil }
    defer { started += 1 }
    return started
  }

  /// A function has ended. Returns whether its result is kept. If not, it came too late or does not count.
  ///
  /// - Parameter counts: Whether it counts towards the needed number. A success that does not is kept only if it is the
  ///   last.
  mutating func end(_ index: Int, _ end: End, counts: Bool) -> Bool {
    guard verdict == nil else { return false }
    if counts {
      succeeded += 1
      if succeeded == needed { verdict = .won }
    } else {
      failed += 1
      if failed > count - needed { verdict = .lost(by: index) }
      if case .success = end, verdict == nil { return false }
    }
    ends[index] = end
    return true
  }

  /// Ends the contest from outside. Has no effect once it is decided.
  mutating func cancel() { if verdict == nil { verdict = .cancelled } }
}
