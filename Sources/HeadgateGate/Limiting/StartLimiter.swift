import HeadgateThreads

/// The earliest time of the next start at one end-point, according to rates, a minimum interval, budgets of weights,
/// and the quota reported by the server. A value without a clock.
///
/// Queries charge nothing. A start is counted in all limits or in none: the caller reads ``earliest(_:)`` and takes the
/// start when that time has come.
struct StartLimiter: Sendable {
  private(set) var rates: [(rate: Rate, starts: StartWindow)]
  private(set) var budgets: [(budget: Budget, starts: StartWindow)]
  // One nanosecond if there is no interval: it also remembers the last start for rates that are added later.
  private(set) var minimum: StartWindow
  private(set) var quota: QuotaLeft?
  // What other processes have started. Nil if that delays nothing.
  private var held: Held?
  // Indirect: limiters are copied for each request with scopes, and few have one.
  private indirect enum Held { case until(Deadline, StartCause) }
  private var lastMoment = Deadline.distantPast
  private var lastNumber: UInt64 = 0

  /// - Parameters:
  ///   - rates: The rates, all of which apply.
  ///   - minimumInterval: The minimum time between starts.
  ///   - budgets: The budgets, all of which apply to requests with weights by their names.
  ///   - jitter: The maximum fraction by which `minimumInterval` is randomly extended.
  init(rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = [], jitter: Double = 0) {
    self.rates = rates.map { ($0, StartWindow($0.form == .spaced ? 1 : $0.count, in: $0.keptNanoseconds)) }
    self.budgets = budgets.map { ($0, StartWindow($0.units, in: Rate.guarded($0.windowNanoseconds, spread: .zero))) }
    let interval = max(1, minimumInterval.wholeNanoseconds)
    minimum = StartWindow(1, in: interval, jitter: Int64(Double(interval) * jitter))
  }

  /// Replaces the limits. Known starts count in the new ones, and the weights of a budget in one of the same name.
  mutating func change(rates: [Rate], minimumInterval: Duration, budgets: [Budget], jitter: Double = 0) {
    let old = self
    self = StartLimiter(rates: rates, minimumInterval: minimumInterval, budgets: budgets, jitter: jitter)
    (quota, lastMoment, lastNumber) = (old.quota, old.lastMoment, old.lastNumber)
    // The longest window holds all starts that the others hold.
    let known = old.rates.map(\.starts).reduce(old.minimum) { $0.nanoseconds < $1.nanoseconds ? $1 : $0 }
    for place in self.rates.indices { self.rates[place].starts.adopt(known, at: lastMoment) }
    minimum.adopt(known, at: lastMoment)
    for place in self.budgets.indices {
      if let same = old.budgets.first(where: { $0.budget.name == self.budgets[place].budget.name }) {
        self.budgets[place].starts.adopt(same.starts, at: lastMoment)
      }
    }
  }

  /// The first budget that is too small for a request. The request must be refused, because it would wait forever.
  func budgetTooSmall(for weights: [String: Int]) -> Budget? {
    budgets.first { $0.budget.units < weights[$0.budget.name] ?? 0 }?.budget
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
    for (rate, starts) in rates { consider(starts.next, .rate(rate)) }
    if minimum.nanoseconds > 1 { consider(minimum.next, .minimumInterval(.nanoseconds(minimum.nanoseconds))) }
    for (budget, starts) in budgets {
      guard let weight = weights[budget.name], weight > 0 else { continue }
      consider(starts.earliest(weight), .budget(budget, weight: weight))
    }
    if let quota, quota.remaining <= 0 { consider(quota.until, .quota) }
    if case .until(let moment, let cause)? = held { consider(moment, cause) }
    return (latest, cause)
  }

  /// Other processes have used up a limit. Nothing starts before a time, until the limits change: then they are asked
  /// again.
  mutating func hold(until moment: Deadline, _ cause: StartCause) { held = .until(moment, cause) }

  /// Counts a start in all limits.
  ///
  /// - Parameter now: The current time. A time before the last start counts as that of the last start.
  mutating func take(_ weights: [String: Int] = [:], at now: Deadline) -> StartReservation {
    lastNumber += 1
    lastMoment = max(now, lastMoment)
    let start = StartReservation(number: lastNumber, moment: lastMoment, weights: weights)
    for place in rates.indices { rates[place].starts.take(start) }
    minimum.take(start)
    for place in budgets.indices {
      guard let weight = weights[budgets[place].budget.name], weight > 0 else { continue }
      budgets[place].starts.take(start, weight: weight)
    }
    quota?.take(at: lastMoment)
    return start
  }

  /// A counted start did not happen. At most once for each start.
  mutating func giveBack(_ start: StartReservation) {
    for place in rates.indices { rates[place].starts.giveBack(start) }
    minimum.giveBack(start)
    for place in budgets.indices { budgets[place].starts.giveBack(start) }
    quota?.giveBack(start.number)
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
    for place in budgets.indices {
      let name = budgets[place].budget.name
      guard let weight = actual[name] else { continue }
      let reserved = max(0, start.weights[name] ?? 0)
      budgets[place].starts.settle(start, reserved: reserved, actual: max(0, weight), at: lastMoment)
    }
  }

  /// The server reported how many more requests it accepts, and when more become free. Of several reports, the one on
  /// the latest start applies; an earlier one can only lower its number. Requests that started after the one with this
  /// response may or may not be included in the server's count, so they are subtracted.
  ///
  /// - Parameters:
  ///   - remaining: The reported number.
  ///   - until: The time at which more become free. If it has passed, the report only applies to a known quota.
  ///   - start: The start of the request with this response. Nil if it was not counted.
  ///   - others: The number of other running requests that were not counted when they started. The server may or may
  ///     not have counted them, so they are subtracted.
  ///   - now: The current time.
  mutating func adopt(
    remaining: Int, until: Deadline, answering start: StartReservation?, others: Int = 0, at now: Deadline
  ) {
    guard until > now || quota != nil else { return }
    // A start that was not counted is older than all others.
    let counted = start?.number ?? (quota == nil ? lastNumber : 0)
    let left = max(0, max(0, remaining) - Int(clamping: lastNumber - counted) - max(0, others))
    if let quota, start == nil || counted < quota.counted {
      self.quota?.lower(to: left)
    } else {
      quota = QuotaLeft(remaining: left, until: max(until, now), counted: counted, reportedAt: now)
    }
  }

  /// The server answered a request without a report. If the time of the last report has passed, its quota is forgotten.
  mutating func answeredWithoutQuota(_ start: StartReservation?, at now: Deadline) {
    if let quota, quota.until <= now, let start, start.number > quota.counted { self.quota = nil }
  }
}

/// The quota that a server has reported.
///
/// When its time has passed, a fixed window begins anew, but in a sliding window only one place may be free. So one
/// request starts, and the report in its response says how many may follow. Until then, one more starts in each
/// ``interval``.
struct QuotaLeft: Hashable, Sendable {
  /// The number of requests that may start.
  private(set) var remaining: Int
  /// The time at which more become free.
  private(set) var until: Deadline
  /// The last start that the server is known to have counted.
  let counted: UInt64
  /// The nanoseconds between starts while a report is awaited: the time for which it asked, from one to ten seconds.
  let interval: Int64

  init(remaining: Int, until: Deadline, counted: UInt64, reportedAt now: Deadline) {
    (self.remaining, self.until, self.counted) = (remaining, until, counted)
    interval = min(max((until - now).wholeNanoseconds, 1_000_000_000), 10_000_000_000)
  }

  mutating func take(at now: Deadline) {
    if until <= now {
      remaining = max(1, remaining)
      until = now.advanced(byNanoseconds: interval)
    }
    remaining -= 1
  }

  mutating func giveBack(_ start: UInt64) { if start > counted { remaining += 1 } }

  mutating func lower(to left: Int) { remaining = min(left, remaining) }
}
