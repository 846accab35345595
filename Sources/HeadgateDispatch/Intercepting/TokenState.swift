import HeadgateThreads

/// Which token there is, and who waits for the next one, as a value: one fetch at a time, for all who wait.
struct TokenState<Waiter> {
  /// What becomes of somebody who wants a token.
  enum Want {
    /// There is one.
    case token(BearerToken)
    /// The token of a fetch, which is to be begun if it is new.
    case waits(number: Int, begins: Fetch?)
  }

  /// A fetch to begin.
  struct Fetch {
    let id: Int
    let old: BearerToken?
  }

  private struct Running {
    let begun: Deadline
    let canceller: Canceller
    var waiters: [Int: Waiter] = [:]
  }

  private(set) var token: BearerToken?
  // When it is not used any more.
  private var expiry: Deadline?
  private var fetches: [Int: Running] = [:]
  // The one whose token will be the present one. Others were begun before somebody set another.
  private var current: Int?
  private var lastNumber = 0
  private let leeway: Duration

  init(_ token: BearerToken?, leeway: Duration) {
    self.token = token
    self.leeway = leeway
  }

  /// Somebody needs a token, and not the one that a server refused.
  ///
  /// - Parameter canceller: What cancels the fetch, if this begins one.
  mutating func want(_ waiter: Waiter, refused: String?, _ canceller: Canceller, at now: Deadline) -> Want {
    if let token = usable(refused: refused, at: now) { return .token(token) }
    lastNumber += 1
    let number = lastNumber
    if let current {
      fetches[current]?.waiters[number] = waiter
      return .waits(number: number, begins: nil)
    }
    current = number
    fetches[number] = Running(begun: now, canceller: canceller, waiters: [number: waiter])
    return .waits(number: number, begins: Fetch(id: number, old: token))
  }

  /// The present token, unless it is the one that was refused, or has expired, or another is being fetched in its place.
  mutating func usable(refused: String?, at now: Deadline) -> BearerToken? {
    guard current == nil, let token, token.value != refused else { return nil }
    // One that was given has its lifetime from its first use.
    if expiry == nil { expiry = end(of: token, from: now) }
    if let expiry, expiry <= now { return nil }
    return token
  }

  private func end(of token: BearerToken, from begun: Deadline) -> Deadline? {
    // However short it lives, half of that it is used.
    token.lifetime.map { begun + max($0 - leeway, $0 / 2) }
  }

  /// A fetch has brought a token, or none, or failed. Returns those who waited, in the order of their coming.
  mutating func fetched(_ id: Int, _ result: Result<BearerToken?, any Error>) -> [Waiter] {
    guard let done = fetches.removeValue(forKey: id) else { return [] }
    if current == id {
      current = nil
      if case .success(let token) = result {
        self.token = token
        expiry = token.flatMap { end(of: $0, from: done.begun) }
      }
    }
    return done.waiters.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Somebody waits no longer. Returns that waiter, if it did; and the fetch to be cancelled, if nobody is left.
  mutating func gaveUp(_ number: Int) -> (waiter: Waiter?, fetch: Canceller?) {
    guard let id = fetches.first(where: { $0.value.waiters[number] != nil })?.key,
      let waiter = fetches[id]?.waiters.removeValue(forKey: number)
    else { return (nil, nil) }
    guard let left = fetches[id], left.waiters.isEmpty else { return (waiter, nil) }
    fetches[id] = nil
    if current == id { current = nil }
    return (waiter, left.canceller)
  }

  /// How many wait.
  var waiting: Int { fetches.values.reduce(0) { $0 + $1.waiters.count } }

  /// Another token, from outside. Returns those who need wait no longer, and the fetch that is to be cancelled; with no token
  /// they wait on, and what they wait for is not kept.
  mutating func set(_ token: BearerToken?) -> (waiters: [Waiter], fetch: Canceller?) {
    self.token = token
    expiry = nil
    guard let outdated = current.take(), token != nil, let fetch = fetches.removeValue(forKey: outdated) else {
      return ([], nil)
    }
    return (fetch.waiters.sorted { $0.key < $1.key }.map(\.value), fetch.canceller)
  }
}
