import HeadgateThreads

/// The current token and the waiters for the next one, as a value. There is at most one current fetch, shared by all
/// waiters.
struct TokenState<Waiter> {
  /// The answer to a waiter.
  enum Want {
    /// A usable token.
    case token(BearerToken)
    /// The waiter gets the result of a fetch. `begins` is set if the caller must start that fetch.
    case waits(number: Int, begins: Fetch?)
  }

  /// A fetch to begin.
  struct Fetch {
    let id: Int
    let old: BearerToken?
  }

  private struct Running {
    let begun: Deadline
    /// Set to cancel the fetch.
    let isUnwanted: OneShot<Void>
    var waiters: [Int: Waiter] = [:]
  }

  private(set) var token: BearerToken?
  // When the token is no longer used.
  private var expiry: Deadline?
  private var fetches: [Int: Running] = [:]
  // The fetch whose result becomes the current token. Other fetches began before the token was replaced from outside.
  private var current: Int?
  private var lastNumber = 0
  private let leeway: Duration

  init(_ token: BearerToken?, leeway: Duration) {
    self.token = token
    self.leeway = leeway
  }

  /// Requests a token other than the one that a server refused.
  ///
  /// - Parameter isUnwanted: Cancels the fetch, if this call begins one.
  mutating func want(_ waiter: Waiter, refused: String?, _ isUnwanted: OneShot<Void>, at now: Deadline) -> Want {
    if let token = usable(refused: refused, at: now) { return .token(token) }
    lastNumber += 1
    let number = lastNumber
    if let current {
      fetches[current]?.waiters[number] = waiter
      return .waits(number: number, begins: nil)
    }
    current = number
    fetches[number] = Running(begun: now, isUnwanted: isUnwanted, waiters: [number: waiter])
    return .waits(number: number, begins: Fetch(id: number, old: token))
  }

  /// The current token. Nil if it is the refused one, has expired, or is being replaced by a fetch.
  mutating func usable(refused: String?, at now: Deadline) -> BearerToken? {
    guard current == nil, let token, token.value != refused else { return nil }
    // The lifetime of a token that was passed in starts with its first use.
    if expiry == nil { expiry = end(of: token, from: now) }
    if let expiry, expiry <= now { return nil }
    return token
  }

  private func end(of token: BearerToken, from begun: Deadline) -> Deadline? {
    // A token is used for at least half of its lifetime, however short that is.
    token.lifetime.map { begun + max($0 - leeway, $0 / 2) }
  }

  /// Records the end of a fetch. Returns its waiters in the order of arrival.
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

  /// Removes a waiter. Returns it, if it was still waiting, and the fetch to cancel, if it has no other waiters.
  mutating func gaveUp(_ number: Int) -> (waiter: Waiter?, fetch: OneShot<Void>?) {
    guard let id = fetches.first(where: { $0.value.waiters[number] != nil })?.key,
      let waiter = fetches[id]?.waiters.removeValue(forKey: number)
    else { return (nil, nil) }
    guard let left = fetches[id], left.waiters.isEmpty else { return (waiter, nil) }
    fetches[id] = nil
    if current == id { current = nil }
    return (waiter, left.isUnwanted)
  }

  /// The number of waiters.
  var waiting: Int { fetches.values.reduce(0) { $0 + $1.waiters.count } }

  /// Replaces the token from outside. With a token, returns the waiters to resume and the fetch to cancel. With nil,
  /// the waiters stay and the fetch continues, but its result is not stored.
  mutating func set(_ token: BearerToken?) -> (waiters: [Waiter], fetch: OneShot<Void>?) {
    self.token = token
    expiry = nil
    guard let outdated = current.take(), token != nil, let fetch = fetches.removeValue(forKey: outdated) else {
      return ([], nil)
    }
    return (fetch.waiters.sorted { $0.key < $1.key }.map(\.value), fetch.isUnwanted)
  }
}
