import HeadgateThreads

// A program's share of limits, for the time in which the coordinator can't be reached: the safe capacity of Doorman
// (youtube/doorman, design.md).

extension SharedDemand {
  /// The same demand under other limits.
  func with(_ limits: EndPointLimits) -> SharedDemand { SharedDemand(self, limits, [:]) }

  /// The same demand under the share that each of a number of programs may use.
  ///
  /// - Throws: ``LimitError`` if the share is less than one request or one unit.
  func share(of programs: Int) throws(LimitError) -> SharedDemand {
    var shares: [RequestScope: ScopeLimits] = [:]
    for (scope, limits) in scopeLimits { shares[scope] = try limits.share(of: programs) }
    return SharedDemand(self, try limits.share(of: programs), shares)
  }
}

extension EndPointLimits {
  func share(of programs: Int) throws(LimitError) -> EndPointLimits {
    let requests = try divided(requests, programs, "the limit")
    return EndPointLimits(
      unchecked: requests, max(1, min(long / programs, requests)), requests, 1, try pace?.share(of: programs),
      keepsRoomForShort: keepsRoomForShort)
  }
}

extension ScopeLimits {
  func share(of programs: Int) throws(LimitError) -> ScopeLimits {
    let share = try requests.map { requests throws(LimitError) in try divided(requests, programs, "the limit") }
    return ScopeLimits(unchecked: share, try pace?.share(of: programs))
  }
}

extension Pace {
  /// Each program starts requests at longer intervals, or fewer of them in each window.
  func share(of programs: Int) throws(LimitError) -> Pace? {
    let shares = try rates.map { rate throws(LimitError) in
      let isWhole = rate.form == .rolling && rate.count >= programs
      let count = isWhole ? rate.count / programs : rate.form == .spaced ? rate.count : 1
      let period = isWhole ? rate.period : rate.period * programs
      return try Rate(rate.form, count, period, rate.spread)
    }
    let parts = try budgets.map { budget throws(LimitError) in
      try Budget(budget.name, units: divided(budget.units, programs, "the budget"), per: budget.window)
    }
    return try Pace.of(shares, minimumInterval * programs, parts, jitter: jitter)
  }
}

private func divided(_ amount: Int, _ programs: Int, _ what: String) throws(LimitError) -> Int {
  guard amount >= programs else { throw LimitError("\(what) of \(amount) can't be divided among \(programs) programs") }
  return amount / programs
}
