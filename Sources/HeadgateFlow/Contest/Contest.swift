// The rules of firstToSucceed, allSucceed, allSettled, race, quorum and firstMatching, as one value: events go in, and it
// says who may start, when it is decided, and what came of it. No time, no threads, no closures, and no values: what a
// function brought stands in `ContestSlots`, and here is only how it ended, so that the rules are compiled once and not
// for every type of results.

/// What decides a contest of functions.
enum ContestRule: Hashable, Sendable {
  case allSucceed, allSettled, firstToSucceed, race, firstMatching
  case quorum(Int)
}

/// How one function ended.
enum ContestEnd: Sendable {
  case success, failure
  /// No answer came, and none will.
  case missing
}

/// Functions that are started in the order of their numbers, never more than so many at a time, until it is decided.
///
/// Whoever drives it starts what `start` names, tells `end` of each end, cancels what runs once `isSettled`, and takes
/// the outcome when `isOver`, or, if it abandons the losers, as soon as it is settled.
struct Contest: Sendable {
  let rule: ContestRule
  let count: Int
  let atMost: Int

  private(set) var started = 0
  private(set) var running = 0
  /// Nothing is started any more, and what runs is to be cancelled.
  private(set) var isSettled = false

  // How each has ended whose slot is kept, as far as the outcome may need it. The places are made at once, or (for
  // failures of rules that a success decides) when the first failure comes. A winner has none.
  private var ends: [ContestEnd?] = []
  // Why there was no answer, where it was told.
  private var codes: [Int: FlowErrorCode] = [:]
  private var ended = 0
  private var succeeded = 0
  // Which input decided: its success, then it is the winner, or its failure.
  private var deciding: Int?
  private var hasWinner = false
  // Why it was ended from outside.
  private var code: FlowErrorCode?

  init(_ rule: ContestRule, count: Int, atMost: Int = .max) {
    self.rule = rule
    self.count = count
    self.atMost = atMost
    switch rule {
    case .allSucceed, .allSettled, .quorum: makePlaces()
    case .firstToSucceed, .race, .firstMatching: break
    }
    if needed == 0 { isSettled = true }
  }

  private mutating func makePlaces() { ends = Array(repeating: nil, count: count) }

  /// How many successes decide; nil where that is not what decides.
  private var needed: Int? {
    switch rule {
    case .allSucceed: count
    case .quorum(let number): number
    case .allSettled, .race, .firstToSucceed, .firstMatching: count == 0 ? 0 : nil
    }
  }

  /// Nothing runs, and nothing will.
  var isOver: Bool { running == 0 && (isSettled || started == count) }

  /// The next to start; nil if none may.
  mutating func start() -> Int? {
    guard !isSettled, started < count, running < atMost else { return nil }
    defer { started += 1 }
    running += 1
    return started
  }

  /// One has ended. Returns whether the outcome may need what it brought; if not it came too late, or is not what was
  /// looked for, and its slot is to be emptied.
  ///
  /// - Parameters:
  ///   - index: Its number.
  ///   - end: How it ended.
  ///   - code: Why there was no answer; nil for a cancellation.
  ///   - matches: For `firstMatching`: whether a success is what was looked for.
  mutating func end(_ index: Int, _ end: ContestEnd, code: FlowErrorCode? = nil, matches: Bool = true) -> Bool {
    running -= 1
    // All are told of, if the one who settled it (a cancellation) is not one of them.
    guard !isSettled || rule == .allSettled else { return false }
    ended += 1
    if let code { codes[index] = code }
    let isSuccess = end == .success
    if isSuccess { succeeded += 1 }
    switch rule {
    case .race: decide(index, end)
    case .firstToSucceed:
      if isSuccess { decide(index, end) } else { keep(index, end) }
      if ended == count { isSettled = true }
    case .firstMatching:
      if isSuccess && matches || ended == count {
        decide(index, end)
      } else if isSuccess {
        return false
      } else {
        keep(index, end)
      }
    case .allSucceed:
      keep(index, end)
      if !isSuccess { deciding = index }
      isSettled = !isSuccess || succeeded == count
    case .quorum(let needed):
      keep(index, end)
      if succeeded < needed, count - (ended - succeeded) < needed { deciding = index }
      isSettled = succeeded == needed || deciding != nil
    case .allSettled:
      keep(index, end)
      if ended == count { isSettled = true }
    }
    return true
  }

  /// It is ended from outside. Changes nothing once it is decided.
  mutating func cancel(_ code: FlowErrorCode) {
    guard !isSettled else { return }
    isSettled = true
    self.code = code
  }

  private mutating func keep(_ index: Int, _ end: ContestEnd) {
    if ends.isEmpty { makePlaces() }
    ends[index] = end
  }

  private mutating func decide(_ index: Int, _ end: ContestEnd) {
    deciding = index
    hasWinner = end == .success
    if !hasWinner { keep(index, end) }
    isSettled = true
  }

  // MARK: The outcome

  /// What came of it. Once, when it is settled: with that all slots are spoken for that are kept.
  mutating func conclude() -> ContestOutcome {
    let verdict = verdict
    let outcome = ContestOutcome(verdict: verdict, ends: ends, codes: codes)
    (ends, codes) = ([], [:])
    return outcome
  }

  private var verdict: ContestOutcome.Verdict {
    if rule == .allSettled { return .ends(code ?? .cancelled) }
    if hasWinner, let deciding { return .winner(deciding) }
    if code == nil, deciding == nil, let needed, succeeded >= needed, needed > 0 || rule.allowsNone {
      return .values(succeeded)
    }
    return .failure(code ?? failureCode, deciding: deciding)
  }

  private var failureCode: FlowErrorCode {
    guard count > 0 else { return .noInput }
    switch rule {
    case .quorum: return .quorumMissed
    case .firstToSucceed: return .allFailed
    default:
      guard let deciding, ends[deciding] == .missing else { return .failed }
      return codes[deciding] ?? .cancelled
    }
  }
}

extension ContestRule {
  /// Whether nothing at all is a good outcome.
  fileprivate var allowsNone: Bool {
    switch self {
    case .allSucceed, .quorum: true
    case .allSettled, .firstToSucceed, .race, .firstMatching: false
    }
  }
}
