import HeadgateThreads

@testable import HeadgateGate

/// The allowance of an end-point or a scope, computed from its limits and all starts ever made there. Slow and simple.
struct LimiterModel {
  struct Start {
    let serial: Int
    let moment: UInt64
    // By budgets. Nil for a debt.
    var weights: [String: Int]
    var isDebt = false
  }

  /// The number of requests that the server still accepts, by its own words.
  private struct Quota {
    var left: Int
    var until: UInt64
    /// While no new report comes, one start in this time.
    var interval: UInt64
    /// The last start that the server had certainly counted.
    var counted: Int
  }

  var most = Int.max
  var rates: [Rate] = []
  var interval: Int64 = 0
  var budgets: [Budget] = []
  var health = HealthModel()
  var starts: [Start] = []
  private var quota: Quota?
  // After a reported quota, an end-point without rates counts its starts too.
  private var wasToldQuota = false
  private var lastNumber = 0
  private var lastCounted: UInt64 = 0

  init() {}

  mutating func adopt(_ pace: (rates: [Rate], interval: Duration, budgets: [Budget])) {
    (rates, interval, budgets) = (pace.rates, Int64(pace.interval / .nanoseconds(1)), pace.budgets)
  }

  /// Whether a start depends on anything besides the number of running requests.
  var countsStarts: Bool { hasPace || wasToldQuota || health.cause != nil }

  /// Whether anything is remembered about it, or has to be.
  var hasRecord: Bool { hasPace || wasToldQuota || health.isKnown }

  private var hasPace: Bool { !rates.isEmpty || interval > 0 || !budgets.isEmpty }

  /// Returns the number of the start. Nil if starts are not counted.
  mutating func start(_ serial: Int, _ weights: [String: Int], at now: UInt64) -> Int? {
    lastCounted = now
    starts.append(Start(serial: serial, moment: now, weights: weights))
    let longest: UInt64 = 1_000_000
    while let first = starts.first, starts.count > 64, first.moment + longest < now { starts.removeFirst() }
    guard hasPace || wasToldQuota else { return nil }
    lastNumber += 1
    if let known = quota {
      if known.until <= now {
        quota?.left = max(1, known.left)
        quota?.until = now + known.interval
      }
      quota?.left -= 1
    }
    return lastNumber
  }

  /// The start never happened.
  mutating func giveBack(_ serial: Int, _ number: Int?) {
    if let number, let quota, number > quota.counted { self.quota?.left += 1 }
    guard let place = starts.lastIndex(where: { $0.serial == serial && !$0.isDebt }) else { return }
    starts.remove(at: place)
  }

  mutating func settle(_ serial: Int, _ actual: [String: Int], at now: UInt64) {
    lastCounted = now
    guard let place = starts.lastIndex(where: { $0.serial == serial && !$0.isDebt }) else { return }
    for (name, weight) in actual where budgets.contains(where: { $0.name == name }) {
      let reserved = starts[place].weights[name] ?? 0
      if weight > reserved {
        starts.append(
          Start(serial: serial, moment: now, weights: [name: weight - reserved], isDebt: true))
      } else {
        starts[place].weights[name] = weight
      }
    }
  }

  /// A response has reported how many more requests the server accepts. Starts since the answered request are
  /// subtracted. A report on an earlier start than the last one's can only lower the number.
  mutating func say(remaining: Int, until: UInt64, answering number: Int?, others: Int, at now: UInt64) {
    let uncounted = hasPace || wasToldQuota ? 0 : others
    wasToldQuota = true
    if until <= now, quota == nil { return }
    let counted = number ?? (quota == nil ? lastNumber : 0)
    let left = max(0, remaining - (lastNumber - counted) - uncounted)
    if let quota, number == nil || counted < quota.counted {
      self.quota?.left = min(left, quota.left)
    } else {
      let wait = until > now ? until - now : 0
      quota = Quota(
        left: left, until: max(until, now), interval: min(max(wait, 1_000_000_000), 10_000_000_000), counted: counted)
    }
  }

  /// A response has reported nothing.
  mutating func saysNothing(answering number: Int?, at now: UInt64) {
    if let quota, let number, quota.until <= now, number > quota.counted { self.quota = nil }
  }

  /// When a request of these weights may start by rates and budgets, and the reason for the wait. Nil: now.
  func next(_ weights: [String: Int], at now: UInt64) -> (until: UInt64, cause: StartCause)? {
    var found: [(UInt64, StartCause)] = []
    let last = starts.last { !$0.isDebt }
    for rate in rates where rate.form == .spaced {
      if let last { found.append((last.moment + UInt64(rate.keptNanoseconds), .rate(rate))) }
    }
    if rates.contains(where: { $0.form == .rolling }) {
      let real = starts.filter { !$0.isDebt }
      for rate in rates where rate.form == .rolling && real.count >= rate.count {
        found.append((real[real.count - rate.count].moment + UInt64(rate.keptNanoseconds), .rate(rate)))
      }
    }
    if interval > 0, let last {
      found.append((last.moment + UInt64(interval), .minimumInterval(.nanoseconds(interval))))
    }
    for budget in budgets {
      guard let weight = weights[budget.name], weight > 0 else { continue }
      if let moment = room(in: budget, for: weight, at: now) { found.append((moment, .budget(budget, weight: weight))) }
    }
    if let quota, quota.left <= 0 { found.append((quota.until, .quota)) }
    if health.pace.interval > 0, sleeps(at: now) == nil {
      found.append((health.pace.earliest, .recovery(.nanoseconds(health.pace.interval))))
    }
    var latest: (UInt64, StartCause)?
    for entry in found where entry.0 > (latest?.0 ?? now) { latest = entry }
    return latest.map { ($0.0, $0.1) }
  }

  /// When the last start that must leave the budget's window leaves it. Nil: there is room.
  private func room(in budget: Budget, for weight: Int, at now: UInt64) -> UInt64? {
    let window = UInt64(Rate.guarded(budget.windowNanoseconds, spread: .zero))
    let counted = starts.filter { $0.weights[budget.name] != nil && $0.moment + window > now }
    var sum = counted.map { $0.weights[budget.name] ?? 0 }.reduce(0, +)
    var moment: UInt64?
    for entry in counted where sum + weight > budget.units {
      sum -= entry.weights[budget.name] ?? 0
      moment = entry.moment + window
    }
    return moment
  }

  // MARK: Sleep

  func sleeps(at now: UInt64) -> (WaitReason.Cause, UInt64)? {
    guard health.isAsleep(at: now), let cause = health.cause else { return nil }
    switch cause {
    case .refused(let status), .unavailable(let status): return (.paused(status: status), health.until)
    case .unreachable: return (.unreachable(because: nil), health.until)
    }
  }

  /// How long a start matters.
  var memory: UInt64 {
    let kept = rates.map(\.keptNanoseconds) + budgets.map { Rate.guarded($0.windowNanoseconds, spread: .zero) }
    return UInt64(max(interval, kept.max() ?? 0))
  }

  /// Nothing runs or waits here, so everything that no longer matters is forgotten.
  mutating func rest(at now: UInt64) {
    // Failures and sleeps matter for a minute of silence.
    let silence = max(health.until, health.pace.earliest, health.lastTold) + 60_000_000_000
    if health.isKnown, min(silence, health.calmFrom) > now { return }
    if hasPace, lastCounted + memory > now { return }
    if let quota, quota.until > now { return }
    (health, quota, wasToldQuota, lastNumber) = (HealthModel(), nil, false, 0)
  }
}
