// Limits that are more than counts: rates, budgets, pauses. An end-point with such a limit is watched: it has a record
// in the scope table, and is checked before each of its starts. If nothing may start there before a certain time, it
// sleeps in one heap with all others. The rest of the scheduler sees only a bit for each lane.

import HeadgateThreads

extension Scheduler {
  /// Whether any limit depends on time. If so, `advance(to:)` must precede each event.
  package var isTimed: Bool { hasPace || !scopes.isEmpty }

  /// The earliest time at which a request that waits for a point in time may start. Nil if none does.
  package var wakeAt: Deadline? {
    let moment = scopes.wakeAt
    return moment == .max ? nil : Deadline(nanoseconds: moment)
  }

  /// Advances the time. Starts nothing; see `wake(at:)`. Amortized O(lengths of windows in use), which are few; O(log n)
  /// for scopes that are forgotten.
  package mutating func advance(to moment: Deadline) {
    setTime(moment)
    weighed.forget(at: now)
    scopes.forget(at: now)
  }

  /// Starts what may start from this time on. Checks at most `limit` scopes. If more are due, `wakeAt` is not later
  /// than `moment`.
  package mutating func wake(at moment: Deadline, atMost limit: Int = 256) {
    defer { checkInvariants() }
    advance(to: moment)
    for _ in 0..<limit {
      guard let scope = scopes.popAwake(at: now) else { break }
      if scopes[scope].place >= 0 { updateTurns(scopes[scope].place) } else { markDirty(scope) }
    }
    pump()
  }

  // MARK: Watching

  /// Watches an end-point that has a limit other than a count, or that had trouble.
  mutating func watch(_ place: Int32) {
    guard endPoints[place].scope < 0 else { return }
    let isKnown = scopes.slot(of: .endPoint(endPoints[place].endPoint)) != nil
    if isKnown || endPoints[place].limits.pace != nil || limits.adaptive != nil { startWatching(place) }
  }

  mutating func startWatching(_ place: Int32) {
    let scope = scopes.take(.endPoint(endPoints[place].endPoint)).slot
    scopes[scope].place = place
    endPoints[place].scope = scope
    endPoints[place].holds.insert(.isWatched)
    adoptLearning(at: place)
    adoptPace(endPoints[place].limits.pace, scope)
  }

  /// Nothing runs or waits there any more. Its history is kept while it matters.
  mutating func stopWatching(_ place: Int32) {
    let scope = endPoints[place].scope
    endPoints[place].scope = -1
    endPoints[place].holds.formIntersection(.stopped)
    scopes[scope].place = -1
    scopes.leave(scope, at: now)
  }

  /// Sets the rates of a scope. Its counts are kept.
  mutating func adoptPace(_ pace: Pace?, _ scope: Int32) {
    guard pace != scopes[scope].pace else { return }
    scopes[scope].pace = pace
    if !scopes[scope].hasLimiter { scopes[scope].limiter = StartLimiter() }
    scopes[scope].limiter?.change(
      rates: pace?.rates ?? [], minimumInterval: pace?.minimumInterval ?? .zero, budgets: pace?.budgets ?? [],
      jitter: pace?.jitter ?? 0)
  }

  // MARK: Review

  /// Determines which lanes of an end-point may start their first request now, as far as its scopes, the time and its
  /// health go. While the first request of both lanes together waits for a point in time, the other lane does not
  /// overtake it: otherwise a heavy request could wait forever behind light ones.
  mutating func review(_ place: Int32) {
    purgeReadyLines(of: place)
    let scope = endPoints[place].scope
    guard scope >= 0 else { return }
    endPoints[place].holds.subtract([.shortSleeps, .longSleeps, .recovering])
    scopes[scope].cause = nil
    guard !scopes[scope].isFull(at: now), !isLearnedFull(place) else {
      endPoints[place].holds.insert(.recovering)
      let someoneWaits = endPoints[place].waits(.short) || endPoints[place].waits(.long)
      return scopes.sleep(scope, until: someoneWaits ? scopes[scope].widens(after: now) : .max)
    }
    let short = endPoints[place].hasPlace(for: .short) ? first(of: .short, at: place) : -1
    // A long request that waits for the total's long half makes no short one wait.
    let longMay = runningLong < limits.totalLong && endPoints[place].hasPlace(for: .long)
    let long = longMay ? first(of: .long, at: place) : -1
    let isShortFirst = short >= 0 && (long < 0 || isBefore(short, long))
    let (leader, other) = isShortFirst ? (short, long) : (long, short)
    guard leader >= 0 else { return scopes.sleep(scope, until: .max) }
    let (moment, cause) = scopes[scope].earliest(weights(of: leader), at: now)
    if moment > now {
      // One that waits for the long half is compared with the leader when that has room.
      endPoints[place].holds.formUnion(runningLong < limits.totalLong ? [.shortSleeps, .longSleeps] : .shortSleeps)
      scopes[scope].cause = cause
      return scopes.sleep(scope, until: moment.nanoseconds)
    }
    guard other >= 0 else { return scopes.sleep(scope, until: .max) }
    let next = scopes[scope].earliest(weights(of: other), at: now).moment
    guard next > now else { return scopes.sleep(scope, until: .max) }
    endPoints[place].holds.insert(isShortFirst ? .longSleeps : .shortSleeps)
    scopes.sleep(scope, until: next.nanoseconds)
  }

  /// The scopes that a request itself names.
  func named(by slot: Int32) -> ArraySlice<Int32> {
    let demand = nodes[slot].demand
    return demand < 0 ? [] : demands[demand].named
  }

  func weights(of slot: Int32) -> [String: Int] {
    let demand = nodes[slot].demand
    return demand < 0 ? [:] : demands[demand].weights
  }

  // MARK: Counting starts

  /// Counts a start in all of its scopes. The caller has checked that each of them has room.
  mutating func charge(_ slot: Int32) {
    let watched = endPoints[nodes[slot].endPoint].scope
    if nodes[slot].demand < 0 {
      guard watched >= 0 else { return }
      nodes[slot].demand = demands.insert(Demand())
    }
    let demand = nodes[slot].demand
    let weights = demands[demand].weights
    var charges: [Charge] = []
    charges.reserveCapacity(demands[demand].scopes.count + 1)
    if watched >= 0 {
      var charge = charge(watched, weights)
      if !scopes[watched].learning.isEmpty {
        charge.start = scopes[watched].learning[0].started(running: endPoints[nodes[slot].endPoint].running, at: now)
      }
      charges.append(charge)
    }
    for scope in demands[demand].scopes {
      scopes[scope].running += 1
      charges.append(charge(scope, weights))
      updateCause(ofScope: scope)
    }
    demands[demand].charges = charges
    guard !weights.isEmpty else { return }
    let counted = charges.compactMap { charge in
      charge.reservation.map { (key: scopes[charge.scope].key, reservation: $0) }
    }
    let memory = charges.map { scopes[$0.scope].pace?.memory ?? 0 }.max() ?? 0
    if !counted.isEmpty { weighed.add(nodes.ticket(slot), counted, at: now, memory: memory) }
  }

  private mutating func charge(_ scope: Int32, _ weights: [String: Int]) -> Charge {
    guard scopes[scope].isTimed else { return Charge(scope: scope, reservation: nil, mark: nil) }
    scopes[scope].lastStart = now
    return Charge(
      scope: scope, reservation: scopes[scope].limiter?.take(weights, at: now),
      mark: scopes[scope].health?.started(at: now))
  }

  /// A counted request no longer holds its permit, so its scopes have room again.
  mutating func leaveScopes(_ slot: Int32) {
    let demand = nodes[slot].demand
    for charge in demands[demand].charges {
      if let mark = charge.mark { scopes[charge.scope].health?.ended(mark) }
    }
    demands[demand].charges = []
    for scope in demands[demand].scopes {
      scopes[scope].running -= 1
      markDirty(scope)
    }
  }

  /// A counted request never started. Called before its permit is returned.
  mutating func uncharge(_ slot: Int32) {
    let demand = nodes[slot].demand
    guard demand >= 0 else { return }
    _ = weighed.take(nodes.ticket(slot))
    for charge in demands[demand].charges {
      if let start = charge.start, !scopes[charge.scope].learning.isEmpty {
        scopes[charge.scope].learning[0].takenBack(start)
      }
      if let reservation = charge.reservation { scopes[charge.scope].limiter?.giveBack(reservation) }
    }
  }

  /// Corrects the weight of a request, by budget name. Possible once, from its start until its windows have passed,
  /// even after it has finished; otherwise returns false. O(log n) plus the requests that start.
  package mutating func settleWeight(_ ticket: Ticket, _ actual: [String: Int]) -> Bool {
    defer { checkInvariants() }
    guard let counted = weighed.take(ticket) else { return false }
    var isCounted = false
    for (key, reservation) in counted {
      // Windows may differ in length. Units that have left a window no longer count there.
      guard let scope = scopes.slot(of: key), let pace = scopes[scope].pace,
        reservation.moment.advanced(byNanoseconds: pace.memory) > now
      else { continue }
      scopes[scope].limiter?.settle(reservation, actual: actual, at: now)
      // The debt counts from now on.
      scopes[scope].lastStart = now
      changed(scope)
      isCounted = true
    }
    pump()
    return isCounted
  }

  /// A change at a scope may let requests start, or keep them from starting. The caller pumps.
  mutating func changed(_ scope: Int32) {
    if scopes[scope].place >= 0 { updateTurns(scopes[scope].place) } else { markDirty(scope) }
  }

  /// Removes a node from the table, with its needs besides a permit.
  mutating func removeNode(_ slot: Int32) -> Item? {
    _ = takeWaits(of: slot)
    let demand = nodes[slot].demand
    if demand >= 0 {
      nodes[slot].demand = -1
      let needed = demands[demand].scopes
      // Its memory is released now, and not when the place is reused.
      demands[demand] = Demand()
      demands.remove(demand)
      for scope in needed { scopes.leave(scope, at: now) }
    }
    return nodes.remove(slot)
  }
}
