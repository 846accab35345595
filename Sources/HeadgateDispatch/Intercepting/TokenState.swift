import HeadgateThreads

/// The current token and the fetches under way, as a value. There is at most one current fetch, shared by all waiters.
struct TokenState {
  /// The answer to a request for a token.
  enum Want {
    /// A usable token.
    case token(BearerToken)
    /// The caller waits for the result of a fetch. `begins`: it must start that fetch.
    case fetch(Fetch, begins: Bool)
  }

  /// A fetch and its result.
  struct Fetch: Sendable {
    let number: Int
    let begun: Deadline
    let old: BearerToken?
    let task = OneShot<Task<Void, Never>>()
    let result = OneShot<Result<BearerToken?, any Error>>()

    func cancel() { task.whenSet { $0.cancel() } }
  }

  private(set) var token: BearerToken?
  // A server has refused the token, and no fetch has ended since.
  private var isRefused = false
  // When the token is no longer used.
  private var expiry: Deadline?
  // The fetch whose result becomes the current token. Other fetches began before the token was replaced from outside.
  private var current: Fetch?
  // By the number of the fetch.
  private var waiters: [Int: Int] = [:]
  private var lastNumber = 0
  private let leeway: Duration

  init(_ token: BearerToken?, leeway: Duration) {
    self.token = token
    self.leeway = leeway
  }

  /// A server has refused a token. Until a fetch ends, nothing is sent with it.
  mutating func refuse(_ value: String) {
    if token?.value == value { isRefused = true }
  }

  /// Requests a token other than the one that a server refused.
  mutating func want(refused: String?, at now: Deadline) -> Want {
    if let token = usable(refused: refused, at: now) { return .token(token) }
    if let current {
      waiters[current.number, default: 0] += 1
      return .fetch(current, begins: false)
    }
    lastNumber += 1
    let fetch = Fetch(number: lastNumber, begun: now, old: token)
    current = fetch
    waiters[lastNumber] = 1
    return .fetch(fetch, begins: true)
  }

  /// The current token. Nil if it was refused, has expired, or is being replaced by a fetch.
  mutating func usable(refused: String?, at now: Deadline) -> BearerToken? {
    guard current == nil, !isRefused, let token, token.value != refused else { return nil }
    // The lifetime of a token that was passed in starts with its first use.
    if expiry == nil { expiry = end(of: token, from: now) }
    if let expiry, expiry <= now { return nil }
    return token
  }

  private func end(of token: BearerToken, from begun: Deadline) -> Deadline? {
    // A token is used for at least half of its lifetime, however short that is.
    token.lifetime.map { begun + max($0 - leeway, $0 / 2) }
  }

  /// Records the end of a fetch. Returns whether requests still wait for its result. After ``set(_:)`` with a token none
  /// do: they get that token.
  mutating func ended(_ fetch: Fetch, _ result: Result<BearerToken?, any Error>) -> Bool {
    let isAwaited = waiters.removeValue(forKey: fetch.number) != nil
    guard current?.number == fetch.number else { return isAwaited }
    current = nil
    isRefused = false
    guard case .success(let token) = result else { return isAwaited }
    self.token = token
    expiry = token.flatMap { end(of: $0, from: fetch.begun) }
    return isAwaited
  }

  /// A waiter gives up. Returns true if it was the last, so that the fetch must be cancelled.
  mutating func leave(_ fetch: Fetch) -> Bool {
    guard let waiting = waiters[fetch.number] else { return false }
    waiters[fetch.number] = waiting > 1 ? waiting - 1 : nil
    guard waiting == 1 else { return false }
    if current?.number == fetch.number { current = nil }
    return true
  }

  /// The number of waiters.
  var waiting: Int { waiters.values.reduce(0, +) }

  /// Replaces the token from outside. With a token, returns the fetch whose waiters get it, and which must be cancelled.
  /// With nil, the waiters stay and the fetch continues, but its result is not stored.
  mutating func set(_ token: BearerToken?) -> Fetch? {
    self.token = token
    expiry = nil
    isRefused = false
    guard let outdated = current.take(), token != nil else { return nil }
    waiters[outdated.number] = nil
    return outdated
  }
}
