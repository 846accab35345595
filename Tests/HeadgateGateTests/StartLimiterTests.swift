import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

@Suite struct StartLimiterTests {
  private func at(_ milliseconds: Int) -> Deadline { Deadline(nanoseconds: UInt64(milliseconds) * 1_000_000) }

  @Test("starts are spaced, and a late start is not caught up")
  func spaced() throws {
    var limiter = StartLimiter(rates: [try Rate("10/s")])
    let rate = try Rate("10/s")
    #expect(limiter.earliest(at: at(5)).moment == at(5) && limiter.earliest(at: at(5)).cause == nil)
    _ = limiter.take(at: at(5))
    #expect(limiter.earliest(at: at(5)).moment == at(107) && limiter.earliest(at: at(5)).cause == .rate(rate))
    _ = limiter.take(at: at(500))
    #expect(limiter.earliest(at: at(501)).moment == at(602))
  }

  @Test("the latest of several rates, a minimum interval and the server's quota applies, and is the reason")
  func binding() throws {
    var limiter = StartLimiter(rates: [try Rate("10/s"), try Rate("2/min")], minimumInterval: .milliseconds(300))
    let first = limiter.take(at: at(0))
    #expect(limiter.earliest(at: at(0)).cause == .minimumInterval(.milliseconds(300)))
    _ = limiter.take(at: at(300))
    #expect(limiter.earliest(at: at(300)).moment == at(61_200))
    #expect(limiter.earliest(at: at(300)).cause == .rate(try Rate("2/min")))
    limiter.adopt(remaining: 0, until: at(90_000), answering: first, at: at(301))
    #expect(limiter.earliest(at: at(301)).moment == at(90_000) && limiter.earliest(at: at(301)).cause == .quota)
    #expect(limiter.earliest(at: at(90_000)).cause == nil)
  }

  @Test(
    "D103 no window exceeds the limit: a burst at a window's end is followed by none at the next one's start"
  )
  func boundary() throws {
    var limiter = StartLimiter(rates: [try .rolling(10, per: .seconds(60))])
    var moments: [Deadline] = []
    // Nine late in a minute, the tenth and all others as soon as possible.
    for number in 0..<50 {
      let now = max(Deadline(nanoseconds: 59_000_000_000 + UInt64(number)), limiter.earliest(at: .distantPast).moment)
      _ = limiter.take(at: now)
      moments.append(now)
    }
    for (first, last) in zip(moments, moments.dropFirst(10)) { #expect(last - first >= .seconds(60)) }
  }

  @Test("a start that never happened is returned, in every form")
  func givenBack() throws {
    let tokens = try Budget("tokens", units: 10, per: .seconds(60))
    var limiter = StartLimiter(
      rates: [try Rate("1/s"), try Rate("2/min")], minimumInterval: .milliseconds(100), budgets: [tokens])
    _ = limiter.take(["tokens": 3], at: at(0))
    let before = limiter.earliest(["tokens": 8], at: at(0))
    let second = limiter.take(["tokens": 7], at: at(1100))
    #expect(limiter.earliest(at: at(1100)).moment == at(61_200))
    limiter.giveBack(second)
    #expect(limiter.earliest(["tokens": 7], at: at(1100)).moment == at(1100))
    #expect(limiter.earliest(["tokens": 8], at: at(1100)).moment == before.moment)
  }

  @Test("unused units are returned to their window, and an excess is owed from now on")
  func settled() throws {
    let tokens = try Budget("tokens", units: 100, per: .seconds(50))
    var limiter = StartLimiter(budgets: [tokens])
    let first = limiter.take(["tokens": 100], at: at(0))
    #expect(limiter.earliest(["tokens": 1], at: at(1)).moment == at(51_000))
    #expect(limiter.earliest(["tokens": 1], at: at(1)).cause == .budget(tokens, weight: 1))
    limiter.settle(first, actual: ["tokens": 40], at: at(10))
    #expect(limiter.earliest(["tokens": 60], at: at(10)).moment == at(10))
    let second = limiter.take(["tokens": 60], at: at(10))
    limiter.settle(second, actual: ["tokens": 90], at: at(20))
    // 40 and 60 and a debt of 30: the first two must leave before 71 fit.
    #expect(limiter.earliest(["tokens": 10], at: at(20)).moment == at(51_000))
    #expect(limiter.earliest(["tokens": 71], at: at(20)).moment == at(51_020))
    // Its window is over, so the units are not returned.
    limiter.settle(first, actual: ["tokens": 0], at: at(60_000))
    #expect(limiter.earliest(["tokens": 100], at: at(60_000)).moment == at(60_000))
  }

  @Test("a weight above the whole budget is reported by its name, and names without a budget have no effect")
  func tooHeavy() throws {
    let limiter = StartLimiter(budgets: [try Budget("tokens", units: 10, per: .seconds(1))])
    #expect(limiter.budgetTooSmall(for: ["tokens": 11])?.name == "tokens")
    #expect(limiter.budgetTooSmall(for: ["tokens": 10, "bytes": .max]) == nil)
    #expect(limiter.budgetTooSmall(for: ["tokens": .min]) == nil)
    #expect(throws: LimitError.self) { try Budget("", units: 1, per: .seconds(1)) }
    #expect(throws: LimitError.self) { try Budget("t", units: 0, per: .seconds(1)) }
    #expect(throws: LimitError.self) { try Budget("t", units: 1, per: .zero) }
  }

  @Test("many debts do not overflow")
  func debts() throws {
    var limiter = StartLimiter(budgets: [try Budget("tokens", units: 1, per: .seconds(1))])
    for second in 0..<2000 {
      let start = limiter.take(["tokens": 1], at: at(second / 10))
      limiter.settle(start, actual: ["tokens": .max], at: at(second / 10))
    }
    #expect(limiter.earliest(["tokens": 1], at: at(200)).moment <= at(200 + 1020))
    #expect(limiter.earliest(["tokens": 1], at: at(2000)).cause == nil)
  }

  @Test("the report on the latest start applies; one on an earlier or unknown start can only lower it")
  func quota() {
    var limiter = StartLimiter()
    #expect(limiter.earliest(at: at(0)).cause == nil)
    let first = limiter.take(at: at(0))
    let second = limiter.take(at: at(1))
    _ = limiter.take(at: at(2))
    // One has started since, which it may not have seen.
    limiter.adopt(remaining: 4, until: at(1000), answering: second, at: at(3))
    #expect(limiter.quota?.remaining == 3)
    limiter.adopt(remaining: 100, until: at(5000), answering: first, at: at(4))
    limiter.adopt(remaining: 100, until: at(5000), answering: nil, at: at(4))
    #expect(limiter.quota?.remaining == 3 && limiter.quota?.until == at(1000))
    limiter.giveBack(limiter.take(at: at(5)))
    #expect(limiter.quota?.remaining == 3)
    limiter.adopt(remaining: 3, until: at(1000), answering: first, at: at(6))
    #expect(limiter.quota?.remaining == 0)
    limiter.adopt(remaining: 100, until: at(500), answering: second, at: at(6))
    #expect(limiter.quota?.remaining == 98 && limiter.quota?.until == at(500))
    limiter.adopt(remaining: -5, until: at(1000), answering: second, at: at(6))
    #expect(limiter.earliest(at: at(7)).moment == at(1000))
    // Without a known quota, a reset in the past says nothing.
    var other = StartLimiter()
    other.adopt(remaining: 0, until: at(6), answering: nil, at: at(7))
    #expect(other.quota == nil)
    other.adopt(remaining: .max, until: .distantFuture, answering: nil, at: at(7))
    #expect(other.earliest(at: at(7)).cause == nil)
  }

  @Test("when the time of an exhausted quota has passed, one starts in each interval until the next report")
  func endOfQuota() {
    for (wait, interval) in [(10, 1000), (3000, 3000), (60_000, 10_000)] {
      var limiter = StartLimiter()
      let start = limiter.take(at: at(0))
      limiter.adopt(remaining: 0, until: at(wait), answering: start, at: at(0))
      #expect(limiter.earliest(at: at(1)).moment == at(wait))
      let probe = limiter.take(at: at(wait))
      #expect(limiter.earliest(at: at(wait)).moment == at(wait + interval))
      let next = limiter.take(at: at(wait + interval))
      #expect(limiter.earliest(at: at(wait + interval)).moment == at(wait + 2 * interval))
      limiter.adopt(remaining: 8, until: at(2 * wait), answering: probe, at: at(wait + interval))
      #expect(limiter.quota?.remaining == 7)
      // One that does not start gives way to the next.
      limiter.adopt(remaining: 0, until: at(3 * wait + interval), answering: next, at: at(wait + interval))
      limiter.giveBack(limiter.take(at: at(3 * wait + interval)))
      #expect(limiter.earliest(at: at(3 * wait + interval)).cause == nil)
      // An answer without a report ends a quota whose time has passed, and no other.
      let last = limiter.take(at: at(3 * wait + interval))
      limiter.answeredWithoutQuota(last, at: at(3 * wait + interval))
      #expect(limiter.quota != nil)
      limiter.answeredWithoutQuota(next, at: at(9 * wait + 9 * interval))
      limiter.answeredWithoutQuota(nil, at: at(9 * wait + 9 * interval))
      #expect(limiter.quota != nil)
      limiter.answeredWithoutQuota(last, at: at(9 * wait + 9 * interval))
      #expect(limiter.quota == nil)
    }
  }

  /// The complete knowledge of a limiter: each start with its time and its current weight.
  private struct Model {
    struct Unit {
      let moment: UInt64
      var weight: Int
    }
    var starts: [UInt64: UInt64] = [:]
    var units: [UInt64: Unit] = [:]
    var debts: [Unit] = []

    func fits(_ rate: Rate, at now: UInt64) -> Bool {
      let kept = UInt64(rate.keptNanoseconds)
      let recent = starts.values.filter { $0 + kept > now }
      return rate.form == .spaced ? recent.isEmpty : recent.count < rate.count
    }

    func used(_ window: UInt64, at now: UInt64) -> Int {
      (Array(units.values) + debts).filter { $0.moment + window > now }.reduce(0) { $0 + $1.weight }
    }
  }

  @Test("random starts, cancellations and settlements beside a model that remembers everything", arguments: 1...30)
  func randomEvents(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let rates = [
      try Rate.rolling(Int.random(in: 1...5, using: &random), per: .milliseconds(50)),
      try Rate.rolling(Int.random(in: 5...20, using: &random), per: .milliseconds(400)),
    ]
    let spaced = try Rate.spaced(Int.random(in: 100...1000, using: &random), per: .seconds(1))
    let budget = try Budget("t", units: Int.random(in: 10...100, using: &random), per: .milliseconds(200))
    let all = rates + [spaced]
    var limiter = StartLimiter(rates: all, budgets: [budget])
    var model = Model()
    var open: [StartReservation] = []
    var now: UInt64 = 1
    let window: UInt64 = 204_000_000
    for _ in 0..<500 {
      now += UInt64.random(in: 0...8_000_000, using: &random)
      let present = Deadline(nanoseconds: now)
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where !open.isEmpty:
        let start = open.remove(at: Int.random(in: 0..<open.count, using: &random))
        limiter.giveBack(start)
        model.starts[start.number] = nil
        model.units[start.number] = nil
      case 1...3 where !open.isEmpty:
        let start = open.remove(at: Int.random(in: 0..<open.count, using: &random))
        let actual = Int.random(in: -3...budget.units, using: &random)
        limiter.settle(start, actual: ["t": actual], at: present)
        let reserved = start.weights["t"] ?? 0
        if actual > reserved {
          model.debts.append(Model.Unit(moment: now, weight: actual - reserved))
        } else {
          model.units[start.number]?.weight = max(0, actual)
        }
      default:
        let weight = Int.random(in: 0...budget.units, using: &random)
        let (moment, cause) = limiter.earliest(["t": weight], at: present)
        let mayStart =
          all.allSatisfy { model.fits($0, at: now) }
          && (weight == 0 || model.used(window, at: now) + weight <= budget.units)
        #expect((moment == present) == mayStart && (cause == nil) == mayStart, "seed \(seed)")
        // Not a nanosecond before, and exactly then.
        let then = moment.nanoseconds
        for (moment, fits) in [(then - 1, false), (then, true)] where !mayStart {
          let mayThen =
            all.allSatisfy { model.fits($0, at: moment) }
            && (weight == 0 || model.used(window, at: moment) + weight <= budget.units)
          #expect(mayThen == fits, "seed \(seed)")
        }
        guard mayStart || Bool.random(using: &random) else { continue }
        now = max(now, then)
        let start = limiter.take(["t": weight], at: Deadline(nanoseconds: now))
        model.starts[start.number] = now
        if weight > 0 { model.units[start.number] = Model.Unit(moment: now, weight: weight) }
        open.append(start)
      }
      let (tokens, left) = (limiter.budgets[0].starts, budget.units - model.used(window, at: now))
      #expect(left < 1 || tokens.earliest(left) <= Deadline(nanoseconds: now), "seed \(seed)")
      #expect(left == budget.units || tokens.earliest(max(0, left) + 1) > Deadline(nanoseconds: now), "seed \(seed)")
    }
  }

  @Test("the jitter of a minimum interval only adds, up to its fraction, and is stable over repeated queries")
  func intervalJitter() {
    var limiter = StartLimiter(minimumInterval: .milliseconds(20), jitter: 0.5)
    var now = Deadline(nanoseconds: 1_000_000_000)
    var intervals: Set<Int64> = []
    for _ in 0..<200 {
      _ = limiter.take(at: now)
      let (next, cause) = limiter.earliest(at: now)
      #expect(limiter.earliest(at: now).moment == next && cause == .minimumInterval(.milliseconds(20)))
      let interval = (next - now).wholeNanoseconds
      #expect((20_000_000...30_000_000).contains(interval))
      intervals.insert(interval)
      now = next
    }
    #expect(intervals.count > 150)
  }
}
