import HeadgateThreads

/// The earliest time of the next start at one end-point, according to rates, a minimum interval, budgets of weights,
/// and the quota reported by the server. A value without a clock.
///
/// Queries charge nothing. A start is counted in all limits or in none: the caller reads ``earliest(_:)`` and takes the
/// start when that time has come.
struct StartLimiter: Sendable {
  private(set) var spaced: [(rate: Rate, starts: SpacedStarts)] = []
  private(set) var rolling: [(rate: Rate, starts: RollingStarts)] = []
  private(set) var windows: [BudgetWindow]
  private(set) var minimum: SpacedStarts?
  private(set) var quota: QuotaLeft?
  private var lastMoment = Deadline.distantPast
  private var lastNumber: UInt64 = 0

  /// - Parameters:
  ///   - rates: The rates, all of which apply.
  ///   - minimumInterval: The minimum time between starts.
  ///   - budgets: The budgets, all of which apply to requests with weights by their names.
  ///   - jitter: The maximum fraction by which `minimumInterval` is randomly extended.
  init(rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = [], jitter: Double = 0) {
    for rate in rates {
      switch rate.form {
      case .spaced: spaced.append((rate, SpacedStarts(interval: rate.keptNanoseconds)))
      case .rolling: rolling.append((rate, RollingStarts(count: rate.count, window: rate.keptNanoseconds)))
      }
    }
    windows = budgets.map(BudgetWindow.init)
    let interval = minimumInterval.wholeNanoseconds
    if interval > 0 { minimum = SpacedStarts(interval: interval, jitter: Int64(Double(interval) * jitter)) }
  }

  /// Replaces the limits. Counts are kept for an unchanged limit, and for a rate or budget that replaces another one of
  /// its form or name.
  mutating func change(rates: [Rate], minimumInterval: Duration, budgets: [Budget], jitter: Double = 0) {
    let old = self
    self = StartLimiter(rates: rates, minimumInterval: minimumInterval, budgets: budgets, jitter: jitter)
    (quota, lastMoment, lastNumber) = (old.quota, old.lastMoment, old.lastNumber)
    guard lastNumber > 0 else { return }
    let last = StartReservation(number: lastNumber, moment: lastMoment, weights: [:])
    for place in spaced.indices {
      if let same = old.spaced.first(where: { $0.rate == spaced[place].rate }) {
        spaced[place].starts = same.starts
      } else {
        spaced[place].starts.take(last)
      }
    }
    if let minimum, let same = old.minimum, (same.interval, same.jitter) == (minimum.interval, minimum.jitter) {
      self.minimum = same
    } else {
      minimum?.take(last)
    }
    for place in rolling.indices {
      let same = old.rolling.first { $0.rate == rolling[place].rate }
      // The longest ring reaches furthest back.
      guard let known = same ?? old.rolling.max(by: { $0.starts.count < $1.starts.count }) else { continue }
      rolling[place].starts.adopt(known.starts)
    }
    for place in windows.indices {
      if let known = old.windows.first(where: { $0.budget.name == windows[place].budget.name }) {
        windows[place].adopt(known)
      }
    }
  }

  /// Whether every request may start at once: there are no limits, and the server reported no quota.
  var isUnlimited: Bool {
    spaced.isEmpty && rolling.isEmpty && windows.isEmpty && minimum == nil && quota == nil
  }

  /// The first budget that is too small for a request. The request must be refused, because it would wait forever.
  func budgetTooSmall(for weights: [String: Int]) -> Budget? {
    guard !weights.isEmpty else { return nil }
    return windows.first { $0.budget.units < weights[$0.budget.name] ?? 0 }?.budget
  }

  /// The earliest time at which a request may start, and the limit that delays it. The current time and no cause if
  /// nothing delays it. O(1) for rates; for a budget, O(n) in the starts that must leave its window first.
  ///
  /// - Parameters:
  ///   - weights: The request's weights, by budget name. Unknown names and weights below 1 are ignored. No weight
  ///     may exceed its budget; see ``budgetTooSmall(for:)``.
  ///   - now: The current time.
  func earliest(_ weights: [String: Int] = [:], at now: Deadline) -> (moment: Deadline, cause: StartCause?) {
    var latest = now
    var cause: StartCause?
    func consider(_ moment: Deadline, _ reason: @autoclosure () -> StartCause) {
      guard moment > latest else { return }
      latest = moment
      cause = reason()
    }
    for (rate, starts) in spaced { consider(starts.earliest, .rate(rate)) }
    for (rate, starts) in rolling { consider(starts.earliest, .rate(rate)) }
    if let minimum { consider(minimum.earliest, .minimumInterval(.nanoseconds(minimum.interval))) }
    if !weights.isEmpty {
      for window in windows {
        guard let weight = weights[window.budget.name], weight > 0 else { continue }
        consider(window.earliest(weight), .budget(window.budget, weight: weight))
      }
    }
    if let quota, quota.remaining <= 0 { consider(quota.until, .quota) }
    return (latest, cause)
  }

  /// Counts a start in all limits.
  ///
  /// - Parameter now: The current time. A time before the last start counts as that of the last start.
  mutating func take(_ weights: [String: Int] = [:], at now: Deadline) -> StartReservation {
    lastNumber += 1
    lastMoment = max(now, lastMoment)
    let start = StartReservation(number: lastNumber, moment: lastMoment, weights: weights)
    for place in spaced.indices { spaced[place].starts.take(start) }
    for place in rolling.indices { rolling[place].starts.take(start) }
    minimum?.take(start)
    if !weights.isEmpty {
      for place in windows.indices {
        guard let weight = weights[windows[place].budget.name], weight > 0 else { continue }
        windows[place].take(weight, start)
      }
    }
    quota?.remaining -= 1
    if let quota, quota.until <= lastMoment { self.quota = nil }
    return start
  }

  /// A counted start did not happen. At most once for each start.
  mutating func giveBack(_ start: StartReservation) {
    for place in spaced.indices { spaced[place].starts.giveBack(start) }
    for place in rolling.indices { rolling[place].starts.giveBack(start) }
    minimum?.giveBack(start)
    for place in windows.indices { windows[place].giveBack(start) }
    if let quota, start.number > quota.counted { self.quota?.remaining += 1 }
  }

  /// Corrects the weight of a request. Unused units become free in the window that they were charged to, while it
  /// lasts; units beyond the charge are owed from now on. At most once for each start.
  ///
  /// - Parameters:
  ///   - start: The request's start.
  ///   - actual: The actual weights. Names that are missing keep the charge; negative weights count as 0.
  ///   - now: The current time.
  mutating func settle(_ start: StartReservation, actual: [String: Int], at now: Deadline) {
    lastMoment = max(now, lastMoment)
    for place in windows.indices {
      let name = windows[place].budget.name
      guard let weight = actual[name] else { continue }
      windows[place].settle(start, reserved: max(0, start.weights[name] ?? 0), actual: max(0, weight), at: lastMoment)
    }
  }

  /// The server reported how many more requests it accepts before its window ends. Takes effect only if that number is
  /// lower than the one already known, and only until the window ends. Requests that started after the one with this
  /// response may or may not be included in the server's count, so they are subtracted.
  ///
  /// - Parameters:
  ///   - remaining: The reported number.
  ///   - until: The end of the window. Ignored if it is in the past.
  ///   - start: The start of the request with this response. Nil if it was not counted.
  ///   - others: The number of other running requests that were not counted when they started. The server may or may
  ///     not have counted them, so they are subtracted.
  ///   - now: The current time.
  mutating func adopt(
    remaining: Int, until: Deadline, answering start: StartReservation?, others: Int = 0, at now: Deadline
  ) {
    guard until > now else { return }
    let counted = start?.number ?? lastNumber
    let left = max(0, max(0, remaining) - Int(clamping: lastNumber - counted) - max(0, others))
    if let quota, quota.until > now {
      guard left < quota.remaining else { return }
      self.quota = QuotaLeft(remaining: left, until: max(until, quota.until), counted: counted)
    } else {
      quota = QuotaLeft(remaining: left, until: until, counted: counted)
    }
  }
}

/// The quota that a server has reported.
struct QuotaLeft: Hashable, Sendable {
  /// The number of requests that may start.
  var remaining: Int
  /// The end of the window.
  let until: Deadline
  /// The last start that the server is known to have counted.
  let counted: UInt64
}
