import HeadgateThreads

/// When the next request may start at one end-point, by rates, a least distance, budgets of weights and what the server has
/// said is left. A value with no clock.
///
/// Asking charges nothing. A start is counted in all of them or in none: the caller asks ``earliest(_:)``, and takes when that
/// moment has come.
struct StartLimiter: Sendable {
  private(set) var spaced: [(rate: Rate, starts: SpacedStarts)] = []
  private(set) var rolling: [(rate: Rate, starts: RollingStarts)] = []
  private(set) var windows: [BudgetWindow]
  private(set) var interval: SpacedStarts?
  private(set) var quota: QuotaLeft?
  private var lastMoment = Deadline.distantPast
  private var lastNumber: UInt64 = 0

  /// - Parameters:
  ///   - rates: All of which hold.
  ///   - minimumInterval: The least time from one start to the next.
  ///   - budgets: All of which hold for requests that weigh something by their names.
  ///   - jitter: By which part of itself that is longer at most.
  init(rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = [], jitter: Double = 0) {
    for rate in rates {
      switch rate.form {
      case .spaced: spaced.append((rate, SpacedStarts(distance: rate.keptNanoseconds)))
      case .rolling: rolling.append((rate, RollingStarts(count: rate.count, window: rate.keptNanoseconds)))
      }
    }
    windows = budgets.map(BudgetWindow.init)
    let distance = minimumInterval.wholeNanoseconds
    if distance > 0 { interval = SpacedStarts(distance: distance, jitter: Int64(Double(distance) * jitter)) }
  }

  /// The limits are others from now on. What was counted goes on to count, where a limit is the same, and where a rate or a
  /// budget takes the place of another one of its form or name.
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
    if let interval, let same = old.interval, (same.distance, same.jitter) == (interval.distance, interval.jitter) {
      self.interval = same
    } else {
      interval?.take(last)
    }
    for place in rolling.indices {
      let same = old.rolling.first { $0.rate == rolling[place].rate }
      // The ring that holds most reaches furthest back.
      guard let known = same ?? old.rolling.max(by: { $0.starts.count < $1.starts.count }) else { continue }
      rolling[place].starts.adopt(known.starts)
    }
    for place in windows.indices {
      if let known = old.windows.first(where: { $0.budget.name == windows[place].budget.name }) {
        windows[place].adopt(known)
      }
    }
  }

  /// Whether every request may start at once: there is nothing to count, and nothing was said by the server.
  var isUnlimited: Bool {
    spaced.isEmpty && rolling.isEmpty && windows.isEmpty && interval == nil && quota == nil
  }

  /// The first budget that could never hold a request: it is to be refused by that name, since it would wait for ever.
  func budgetTooSmall(for weights: [String: Int]) -> Budget? {
    guard !weights.isEmpty else { return nil }
    return windows.first { $0.budget.units < weights[$0.budget.name] ?? 0 }?.budget
  }

  /// The first moment at which a request may start, and what keeps it until then; a moment that has passed, and no cause,
  /// where nothing does. O(1) for rates; for a budget O(n) in the starts that have to leave its window before.
  ///
  /// - Parameters:
  ///   - weights: What it weighs, by the names of budgets; other names count for nothing, nor does less than one unit. None
  ///     may be above its budget: see ``budgetTooSmall(for:)``.
  ///   - now: The present.
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
    if let interval { consider(interval.earliest, .minimumInterval(.nanoseconds(interval.distance))) }
    if !weights.isEmpty {
      for window in windows {
        guard let weight = weights[window.budget.name], weight > 0 else { continue }
        consider(window.earliest(weight), .budget(window.budget, weight: weight))
      }
    }
    if let quota, quota.remaining <= 0 { consider(quota.until, .quota) }
    return (latest, cause)
  }

  /// Counts a start, in all of them.
  ///
  /// - Parameter now: The present. A moment before that of the last start counts as that one.
  mutating func take(_ weights: [String: Int] = [:], at now: Deadline) -> StartReservation {
    lastNumber += 1
    lastMoment = max(now, lastMoment)
    let start = StartReservation(number: lastNumber, moment: lastMoment, weights: weights)
    for place in spaced.indices { spaced[place].starts.take(start) }
    for place in rolling.indices { rolling[place].starts.take(start) }
    interval?.take(start)
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

  /// A start that was counted did not happen. Once for each at most.
  mutating func giveBack(_ start: StartReservation) {
    for place in spaced.indices { spaced[place].starts.giveBack(start) }
    for place in rolling.indices { rolling[place].starts.giveBack(start) }
    interval?.giveBack(start)
    for place in windows.indices { windows[place].giveBack(start) }
    if let quota, start.number > quota.counted { self.quota?.remaining += 1 }
  }

  /// The true weight of a request is known. What it did not use is free again in the window it was counted in, while that
  /// lasts; what it used beyond is owed from now on. Once for each start at most.
  ///
  /// - Parameters:
  ///   - start: Its start.
  ///   - actual: What it weighed. Names that are not in here stay as they were; less than nothing counts as nothing.
  ///   - now: The present.
  mutating func settle(_ start: StartReservation, actual: [String: Int], at now: Deadline) {
    lastMoment = max(now, lastMoment)
    for place in windows.indices {
      let name = windows[place].budget.name
      guard let weight = actual[name] else { continue }
      windows[place].settle(start, reserved: max(0, start.weights[name] ?? 0), actual: max(0, weight), at: lastMoment)
    }
  }

  /// The server has said how many more it takes before its window ends. Only what is less than is known here counts, and
  /// only until then. What started since the request that was answered may be among what the server has counted, or
  /// may not: it is taken off.
  ///
  /// - Parameters:
  ///   - remaining: How many.
  ///   - until: When its window ends. A moment that has passed says nothing.
  ///   - start: The start of the request that was answered so; nil if it was not counted.
  ///   - others: How many more run that were not counted when they started. The server may have counted them or not: they
  ///     are taken off.
  ///   - now: The present.
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

/// What a server has said that it still takes.
struct QuotaLeft: Hashable, Sendable {
  /// How many may start.
  var remaining: Int
  /// When that has no meaning any more.
  let until: Deadline
  /// The last start that the server had counted for certain.
  let counted: UInt64
}
