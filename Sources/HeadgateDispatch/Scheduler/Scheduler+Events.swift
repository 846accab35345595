import HeadgateThreads

extension Scheduler {
  /// A request comes. Runs it, queues it or refuses it. O(1), or O(log n) for one that comes with an age, and where others
  /// may have to give way.
  ///
  /// - Parameters:
  ///   - moment: The present.
  ///   - mayBeHeld: Whether its caller can be held when too many wait and the policy says so.
  ///   - mayStart: Whether its caller runs it at once where a permit is free and none is before it.
  ///   - admission: As what it comes.
  ///   - needs: What it needs beside a permit.
  ///   - deadline: When it ends by itself: one whose end-point sleeps until then is refused.
  package mutating func submit(
    _ item: Item, to endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal,
    at moment: Deadline = .distantPast, patience: Patience = .waits, mayBeHeld: Bool = false, mayStart: Bool = false,
    as admission: Admission = .new, needs: StartNeeds? = nil, until deadline: Deadline = .distantFuture
  ) -> Submission {
    defer { checkInvariants() }
    guard admit(admission) else { return .refused(.shutDown) }
    if lane == .long, patience == .needsLongPlace, isLongLaneFull(at: endPoint) {
      return .refused(.longLaneFull)
    }
    let place = endPoints.take(endPoint, limits, paused: paused)
    // Two threads that read the clock one after the other may come in the other order.
    lastAge = max(lastAge + 1, moment.nanoseconds)
    let age = admission.age.map { min(lastAge, $0) } ?? lastAge
    var demand: Int32 = -1
    if isTimed || needs != nil {
      advance(to: moment)
      watch(place)
      let named = take(needs?.scopes)
      if let refusal = refusal(place, named, needs?.weights ?? [:], until: deadline) {
        for scope in named { scopes.leave(scope, at: now) }
        restIfIdle(place)
        return .refused(refusal)
      }
      if let needs { demand = demands.insert(Demand(weights: needs.weights, scopes: named)) }
    }
    let slot = nodes.insert(item, lane, priority, endPoint: place, age: age, rank: rank(of: age, priority))
    if demand >= 0 { nodes[slot].demand = demand }
    // A gate that drains has to look again: nothing starts at an end-point that was stopped by hand.
    if closing != .open, endPoints[place].isPaused { sweep = 0 }
    if mayStart, demand < 0, isNext(lane, at: place) {
      nodes[slot].state = .running
      count(place, lane)
      return .started(nodes.ticket(slot))
    }
    enqueue(slot)
    proceed(at: place)
    guard nodes[slot].state == .waiting else { return .accepted(nodes.ticket(slot)) }
    guard waiting > limits.waiting, !admission.wasAccepted else { return .accepted(nodes.ticket(slot)) }
    if limits.overflow == .wait, mayBeHeld {
      held.append(slot, in: &nodes)
      return .held(nodes.ticket(slot))
    }
    // The newcomer itself has to go, unless the policy names another.
    let victim = shedding.first >= 0 ? shedding.first : slot
    let ticket = nodes.ticket(slot)
    if let item = expel(victim), victim != slot { shed.append(item) }
    if isTimed { pump() }
    return victim == slot ? .refused(.queueFull) : .accepted(ticket)
  }

  /// Takes somebody who waits out of the queue for good.
  mutating func expel(_ slot: Int32) -> Item? {
    let place = nodes[slot].endPoint
    dequeue(slot)
    let item = removeNode(slot)
    updateTurns(place)
    restIfIdle(place)
    return item
  }

  /// A request that was started has ended, its exchange too: its permit goes to the next. Same cost as `submit`. Returns the
  /// item, to be let go of outside the lock; nil when the ticket was given back before.
  ///
  /// - Parameter hasStarted: Whether anything was done with the permit. If not, no rate has counted it.
  package mutating func finish(_ ticket: Ticket, hasStarted: Bool = true) -> Item? {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running || nodes[slot].state == .ending else {
      return nil
    }
    if !hasStarted { uncharge(slot) }
    release(slot)
    let item = removeNode(slot)
    nodes.shrinkIfEmpty()
    return item
  }

  /// A request was cancelled or is out of time. Same cost as `submit`; one that runs keeps its permit until
  /// `finish`.
  package mutating func withdraw(_ ticket: Ticket) -> Withdrawal {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket) else { return .gone }
    switch nodes[slot].state {
    case .waiting:
      let item = expel(slot)
      pump()
      nodes.shrinkIfEmpty()
      return .waiting(item)
    case .granted:
      // Its start was decided and not told yet: it never starts, and the permit goes on to the next.
      granted.remove(slot, in: &nodes)
      uncharge(slot)
      release(slot)
      let item = removeNode(slot)
      nodes.shrinkIfEmpty()
      return .waiting(item)
    case .running:
      nodes[slot].state = .ending
      return .running
    case .ending, .free:
      return .gone
    }
  }

  /// A running request is sent again: elsewhere (a redirect), or to its own end-point. It never holds the old permit while
  /// it waits for the new one, and waits with the age of its first submission. At its own end-point it waits again only
  /// where its start has to be counted by more than the permit that it holds: otherwise it stays. O(log n) in those that
  /// came back like it.
  ///
  /// - Parameter deadline: When it ends by itself: where its new end-point sleeps until then, it is refused.
  package mutating func move(
    _ ticket: Ticket, to endPoint: EndPoint, until deadline: Deadline = .distantFuture
  ) -> Move {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .refused(.shutDown) }
    let old = nodes[slot].endPoint
    if endPoints[old].endPoint == endPoint {
      // What runs may finish at an end-point that was stopped by hand, and at a gate that starts nothing more.
      if !countsStarts(of: slot) || endPoints[old].isPaused || closing >= .ending { return .stays }
    }
    guard closing < .ending else { return .refused(.shutDown) }
    let place = endPoints.take(endPoint, limits, paused: paused)
    if isTimed {
      watch(place)
      let named = nodes[slot].demand < 0 ? [] : demands[nodes[slot].demand].scopes
      if let refusal = refusal(place, named, weights(of: slot), until: deadline) {
        restIfIdle(place)
        return .refused(refusal)
      }
    }
    takeBack(slot)
    nodes[slot].endPoint = place
    nodes[slot].state = .waiting
    // It joins its lane before the permit goes on: none younger at the new end-point may get what it gave up.
    enqueue(slot)
    updateTurns(old)
    proceed(at: nodes[slot].endPoint)
    restIfIdle(old)
    // A gate that drains has to look again: nothing starts at an end-point that was stopped by hand.
    if closing != .open, endPoints[nodes[slot].endPoint].isPaused { sweep = 0 }
    return .moved
  }

  /// Whether a request like this one, which holds a permit, is counted each time it is sent: by a rate, a budget, a pause
  /// or a scope of its own.
  package func countsStarts(of ticket: Ticket) -> Bool { nodes.slot(of: ticket).map { countsStarts(of: $0) } ?? false }

  private func countsStarts(of slot: Int32) -> Bool {
    endPoints[nodes[slot].endPoint].scope >= 0 || nodes[slot].demand >= 0 && !demands[nodes[slot].demand].scopes.isEmpty
  }

  /// The scopes that a request names; one more refers to each.
  private mutating func take(_ names: [RequestScope]?) -> [Int32] {
    guard let names, !names.isEmpty else { return [] }
    return names.map { name in
      let own = limits.scopes[name]
      let scope = scopes.take(.named(name)) { ScopeRecord(.named(name)) }
      scopes[scope].most = own?.requests ?? .max
      adoptPace(own?.pace, scope)
      return scope
    }
  }

  /// A request becomes more or less urgent. One that waits takes the place that it would have had from the start. False:
  /// it is not here any more. O(log n).
  package mutating func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Bool {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket) else { return false }
    let waits = nodes[slot].state == .waiting
    if waits { leaveLane(slot) }
    nodes[slot].priority = priority
    nodes[slot].rank = rank(of: nodes[slot].age, priority)
    guard waits else { return true }
    joinLane(slot)
    // Another one may be the first now, and weigh less.
    if isTimed {
      updateTurns(nodes[slot].endPoint)
      pump()
    }
    return true
  }

  /// An end-point is stopped by hand, or goes on. Nothing starts there meanwhile; what runs may finish. O(1) plus what
  /// starts.
  package mutating func setPaused(_ isPaused: Bool, at endPoint: EndPoint) {
    defer { checkInvariants() }
    if isPaused { paused.insert(endPoint) } else { paused.remove(endPoint) }
    // What waits there when the gate closes would never run: another sweep ends it.
    if isPaused, closing != .open { sweep = 0 }
    guard let place = endPoints.slot(of: endPoint) else { return }
    endPoints[place].isPaused = isPaused
    proceed(at: place)
  }

  /// The transport has seen that an end-point's sockets carry several requests at once, or that they don't: as many may
  /// run as it has requests, or as it has connections. Ends nothing. Forgotten with an end-point that is idle for long.
  /// O(1) plus what starts.
  package mutating func setMultiplexing(_ multiplexes: Bool, at endPoint: EndPoint) {
    defer { checkInvariants() }
    guard let place = endPoints.slot(of: endPoint), endPoints[place].multiplexes != multiplexes else { return }
    endPoints[place].multiplexes = multiplexes
    guard !endPoints[place].isResting else { return }
    proceed(at: place)
  }

  /// The gate closes, or closes harder than it does already.
  package mutating func close(_ mode: Closing) {
    defer { checkInvariants() }
    guard mode > closing else { return }
    closing = mode
    sweep = 0
  }
}
