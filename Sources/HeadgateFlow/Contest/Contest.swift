// The rules of firstToSucceed, allSucceed, allSettled, race, quorum and firstMatching, as one value: events go in, and it
// says who may start, when it is decided, and what came of it. No time, no threads, no closures.

/// What decides a contest of functions.
enum ContestRule: Hashable, Sendable {
  case allSucceed, allSettled, firstToSucceed, race, firstMatching
  case quorum(Int)
}

/// How one function ended.
enum ContestEnd<Success, Failure: Error> {
  case success(Success)
  case failure(Failure)
  /// No answer came, and none will.
  case missing(FlowErrorCode)
}

/// Functions that are started in the order of their numbers, never more than so many at a time, until it is decided.
///
/// Whoever drives it starts what `start` names, tells `ended` of each end, cancels what runs once `isSettled`, and takes
/// the outcome when `isOver`, or, if it abandons the losers, as soon as it is settled.
struct Contest<Success, Failure: Error> {
  typealias End = ContestEnd<Success, Failure>

  let rule: ContestRule
  let count: Int
  let atMost: Int

  private(set) var started = 0
  private(set) var running = 0
  /// Nothing is started any more, and what runs is to be cancelled.
  private(set) var isSettled = false

  // How each has ended, as far as the outcome may need it. The places are made at once, or (for failures of rules that
  // a success decides) when the first failure comes.
  private var ends: [End?] = []
  private var ended = 0
  private var succeeded = 0
  // Which input decided: its success or its failure.
  private var deciding: Int?
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

  /// One has ended. Returns a success that the outcome does not need: it came too late, or is not what was looked for.
  ///
  /// - Parameter matches: For `firstMatching`: whether a success is what was looked for.
  mutating func end(_ index: Int, _ end: End, matches: Bool = true) -> Success? {
    running -= 1
    // All are told of, if the one who settled it (a cancellation) is not one of them.
    guard !isSettled || rule == .allSettled else { return end.success }
    ended += 1
    let isSuccess = end.success != nil
    if isSuccess { succeeded += 1 }
    switch rule {
    case .race: decide(index, end)
    case .firstToSucceed:
      if isSuccess { return decide(index, end) }
      keep(index, end)
      if ended == count { isSettled = true }
    case .firstMatching:
      return endOfSearch(index, end, isMatch: isSuccess && matches)
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
    return nil
  }

  /// It is ended from outside. Changes nothing once it is decided.
  mutating func cancel(_ code: FlowErrorCode) {
    guard !isSettled else { return }
    isSettled = true
    self.code = code
  }

  private mutating func keep(_ index: Int, _ end: End) {
    if ends.isEmpty { makePlaces() }
    ends[index] = end
  }

  @discardableResult
  private mutating func decide(_ index: Int, _ end: End) -> Success? {
    keepDeciding(index, end)
    isSettled = true
    return nil
  }

  // Of a search only the failures are kept and the last end, which stands for the outcome if none matches.
  private mutating func endOfSearch(_ index: Int, _ end: End, isMatch: Bool) -> Success? {
    if isMatch { return decide(index, end) }
    if ended == count { return decide(index, end) }
    if let value = end.success { return value }
    keep(index, end)
    return nil
  }

  private var winner: Success?

  private mutating func keepDeciding(_ index: Int, _ end: End) {
    deciding = index
    if let value = end.success { winner = value } else { keep(index, end) }
  }

  // MARK: The outcome

  /// What came of it, and the successes that are of no use in that. Once, when it is settled.
  mutating func conclude() -> (outcome: ContestOutcome<Success, Failure>, leftovers: [Success]) {
    let ends = self.ends
    self.ends = []
    if rule == .allSettled { return (.ends(ends, code), []) }
    if let winner = winner.take(), let deciding { return (.winner(deciding, winner), []) }
    if code == nil, deciding == nil, let needed, succeeded >= needed, needed > 0 || rule.allowsNone {
      return (.values(ends.compactMap { $0?.success }), [])
    }
    return (.failure(failure(ends)), ends.compactMap { $0?.success })
  }

  private func failure(_ ends: [End?]) -> ContestFailure<Failure> {
    var failure = ContestFailure<Failure>(code: code ?? .noInput)
    for case (let index, .failure(let error)?) in ends.enumerated() {
      if index == deciding { failure.deciding = failure.failures.count }
      failure.failures.append(error)
      failure.inputs.append(index)
    }
    guard code == nil, count > 0 else { return failure }
    switch rule {
    case .quorum: failure.code = .quorumMissed
    case .firstToSucceed: failure.code = .allFailed
    default:
      if let deciding, case .missing(let code)? = ends[deciding] { failure.code = code } else { failure.code = .failed }
    }
    return failure
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

extension ContestEnd {
  var success: Success? {
    if case .success(let value) = self { value } else { nil }
  }
}

extension ContestEnd: Sendable where Success: Sendable {}
extension ContestOutcome: Sendable where Success: Sendable {}
extension Contest: Sendable where Success: Sendable {}

/// What came of a contest.
enum ContestOutcome<Success, Failure: Error> {
  /// Of `firstToSucceed`, `race`, `firstMatching`: whose success it is.
  case winner(Int, Success)
  /// Of `allSucceed` and `quorum`, in the order of the inputs.
  case values([Success])
  /// Of `allSettled`: nil for those that have not ended, and why.
  case ends([ContestEnd<Success, Failure>?], FlowErrorCode?)
  case failure(ContestFailure<Failure>)
}

/// Why there is no success.
struct ContestFailure<Failure: Error>: Sendable {
  var code: FlowErrorCode
  var failures: [Failure] = []
  var inputs: [Int] = []
  // Which of the failures decided.
  var deciding: Int?
}
