import HeadgateThreads

/// How long an end-point pauses after it has refused a request: with 429, with 403 and a wait, or with 503.
///
/// During the pause nothing starts there, and other end-points continue. Waiting uses up neither attempts nor a retry
/// budget. After the pause one request is sent as a probe. Its response allows two concurrent requests. Each further
/// response allows one more, but the number at most doubles in each quarter of the pause, until only the limits apply.
/// While nothing has answered, one more probe is sent after as long as the pause was, the next after twice that time, and
/// so on. The release of a bare permit counts as an answer, unless its holder has reported something: see
/// ``Permit/report(_:)``.
/// If the end-point refuses again, a minimum interval between starts applies from then on.
///
/// A refused burst counts once: requests that were running when the pause began don't extend it.
public struct PausePolicy: Hashable, Sendable {
  /// The longest pause, whatever the server requests, unless that is longer than ``patience``. Ten minutes by default.
  public var maxPause: Duration

  /// The first pause if the server does not request a wait. Each further pause before the end-point has recovered lasts
  /// twice as long. One second by default.
  public var initialPause: Duration

  /// The maximum fraction by which a pause is randomly extended, 0 to 1, so that many clients refused at the same time
  /// don't return at the same time. A pause is never shortened, and never exceeds ``maxPause``. 0.1 by default.
  public var jitter: Double

  /// The number of recent responses among which those with 503 and no wait are counted, 1 to 64. Ten by default.
  public var recentResponses: Int

  /// The number of such responses that pauses the end-point. A single URL that always returns 503 must not stop its
  /// host. Three by default.
  public var unavailableThreshold: Int

  /// How long an end-point may refuse requests, without answering any, before it is given up. Nil, the default: for ever.
  ///
  /// The end-point is given up as soon as its pause ends later than this after the first refusal. Its waiting requests
  /// fail with ``DispatchError/Code/refusing``, and so do those that arrive before the pause is over; then the next
  /// request is a probe again. A wait that the server requests and that is longer than this gives it up at once: the
  /// pause then lasts as long as the server requests, up to 24 hours, whatever ``maxPause`` is.
  public var patience: Duration?

  /// Creates a policy. Values out of range are replaced by the nearest valid ones.
  ///
  /// - Parameters:
  ///   - maxPause: The longest pause; not negative.
  ///   - initialPause: The first pause if the server does not request a wait; not negative.
  ///   - jitter: The maximum fraction by which a pause is randomly extended.
  ///   - unavailableThreshold: The number of recent responses with 503 and no wait that pauses the end-point.
  ///   - recentResponses: The number of recent responses that are considered, 1 to 64.
  ///   - patience: How long an end-point may refuse requests before it is given up. Nil for ever.
  public init(
    maxPause: Duration = .seconds(600), initialPause: Duration = .seconds(1), jitter: Double = 0.1,
    unavailableThreshold: Int = 3, of recentResponses: Int = 10, patience: Duration? = nil
  ) {
    self.maxPause = maxPause
    self.initialPause = initialPause
    self.jitter = jitter
    self.recentResponses = recentResponses
    self.unavailableThreshold = unavailableThreshold
    self.patience = patience
  }

  /// The longest wait that an end-point can request by its refusal.
  static let longestWait = Duration.seconds(86_400)

  /// The length of a pause, in nanoseconds.
  ///
  /// - Parameters:
  ///   - asked: The wait that the server requests. Nil, zero and less count as none.
  ///   - pauses: The number of pauses since the last recovery.
  ///   - random: The source of the jitter.
  func nanoseconds(asked: Duration?, after pauses: Int, using random: inout some RandomNumberGenerator) -> Int64 {
    let wait = asked.map(\.wholeNanoseconds).flatMap { $0 > 0 ? $0 : nil }
    if let wait, isBeyondPatience(asked) {
      // Nothing waits for it, and the error says how long the server wants to be left alone.
      return min(wait, Self.longestWait.wholeNanoseconds)
    }
    let most = max(0, maxPause.wholeNanoseconds)
    return min(Self.later(wait ?? Self.doubled(initialPause, pauses), jitter, using: &random), most)
  }

  /// Whether a wait that the server requests gives the end-point up.
  func isBeyondPatience(_ asked: Duration?) -> Bool {
    guard let asked, let patience else { return false }
    return asked > max(.zero, patience)
  }

  /// A wait, doubled `times` times. Saturates.
  static func doubled(_ first: Duration, _ times: Int) -> Int64 {
    let (product, overflow) = max(0, first.wholeNanoseconds)
      .multipliedReportingOverflow(by: 1 << Int64(min(max(0, times), 62)))
    return overflow ? .max : product
  }

  /// A wait extended by jitter. Saturates.
  static func later(_ wait: Int64, _ jitter: Double, using random: inout some RandomNumberGenerator) -> Int64 {
    // NaN counts as no jitter.
    let part = jitter > 0 ? min(jitter, 1) : 0
    // 2^62 is far below overflow, and longer than any real wait.
    let most = Int64(Double(min(wait, 1 << 62)) * part)
    guard most > 0 else { return wait }
    let (sum, overflow) = wait.addingReportingOverflow(.random(in: 0...most, using: &random))
    return overflow ? .max : sum
  }
}
