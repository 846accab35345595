import HeadgateThreads

extension Scheduler {
  /// A request arrives. Starts, queues or refuses it. O(1), or O(log n) for a request that comes with an age, and if
  /// requests can be displaced.
  ///
  /// - Parameters:
  ///   - moment: The current time.
  ///   - mayBeHeld: Whether its caller can be held if the queue is full and the policy says so.
  ///   - mayStart: Whether its caller starts it at once if a permit is free and no request is ahead of it.
  ///   - admission: How it arrives.
  ///   - needs: What it needs besides a permit.
  ///   - deadline: When it ends by itself. It is refused if its end-point is paused until then.
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
    let place = take(endPoint)
    // Two threads that read the clock in one order may arrive in the other.
    lastAge = max(lastAge + 1, moment.nanoseconds)
    let age = admission.age.map { min(lastAge, $0) } ?? lastAge
    var demand: Int32 = -1
    if isTimed || needs != nil {
      advance(to: moment)
      watch(place)
      let scopes = take(needs, at: place)
      if let refusal = refusal(place, scopes, needs?.weights ?? [:], until: deadline) {
        for scope in scopes { self.scopes.leave(scope, at: now) }
        restIfIdle(place)
        return .refused(refusal)
      }
      if let needs {
        demand = demands.insert(Demand(weights: needs.weights, scopes: scopes, needsSocket: needs.needsSocket))
      }
    }
    let slot = nodes.insert(item, lane, priority, endPoint: place, age: age, rank: rank(of: age, priority))
    if demand >= 0 { nodes[slot].demand = demand }
    // A draining gate must check again: nothing starts at an end-point that was stopped manually.
    if closing != .open, endPoints[place].isStopped { sweep = 0 }
    if mayStart, isNext(lane, at: place), demand < 0 || haveRoom(for: slot) {
      nodes[slot].state = .running
      count(place, lane)
      if demand >= 0 { charge(slot) }
      if waiting > 0 {
        setTime(moment)
        updateCauses(at: place)
      }
      return .started(nodes.ticket(slot))
    }
    setTime(moment)
    enqueue(slot)
    proceed(at: place)
    if patience == .none { return startOrRefuse(slot) }
    guard nodes[slot].state == .waiting else { return .accepted(nodes.ticket(slot)) }
    guard waiting > limits.waiting, !admission.wasAccepted else { return .accepted(nodes.ticket(slot)) }
    if limits.overflow == .wait, mayBeHeld {
      hold(slot)
      return .held(nodes.ticket(slot))
    }
    // The new request itself is removed, unless the policy chooses another.
    let victim = shedding.first >= 0 ? shedding.first : slot
    let ticket = nodes.ticket(slot)
    if let item = expel(victim), victim != slot { shed.append((item, waited)) }
    if isTimed { pump() }
    return victim == slot ? .refused(.queueFull) : .accepted(ticket)
  }

  /// The place of an end-point: an existing or a new one.
  private mutating func take(_ endPoint: EndPoint) -> Int32 {
    if let place = endPoints.wake(endPoint) { return place }
    var record = EndPointRecord(endPoint: endPoint, limits: limits.of(endPoint))
    record.isStopped = stopped.contains(endPoint)
    return endPoints.add(record)
  }

  /// The end of a submission that does not wait: what is known of its end-point may have been out of date before, so
  /// that only now its permit was granted.
  private mutating func startOrRefuse(_ slot: Int32) -> Submission {
    if nodes[slot].state == .waiting {
      _ = expel(slot)
      if isTimed { pump() }
      return .refused(.queueFull)
    }
    granted.remove(slot, in: &nodes)
    nodes[slot].state = .running
    _ = takeWaits(of: slot)
    return .started(nodes.ticket(slot))
  }

  /// Removes a waiting request from the queue for good. `waited` says how long it waited.
  mutating func expel(_ slot: Int32) -> Item? {
    let place = nodes[slot].endPoint
    dequeue(slot)
    waited = takeWaits(of: slot)
    let item = removeNode(slot)
    updateTurns(place)
    restIfIdle(place)
    return item
  }

  /// A started request and its exchange have ended, and its permit goes to the next request. Same cost as `submit`.
  /// Returns the item, to be released outside the lock; nil if the permit was returned before.
  ///
  /// - Parameter hasStarted: Whether the permit was used. If not, the start is removed from all rates.
  package mutating func finish(_ ticket: Ticket, hasStarted: Bool = true) -> Item? {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running || nodes[slot].state == .ending else {
      return nil
    }
    return finish(slot, hasStarted: hasStarted)
  }

  private mutating func finish(_ slot: Int32, hasStarted: Bool) -> Item? {
    if !hasStarted { uncharge(slot) }
    release(slot)
    let item = removeNode(slot)
    nodes.shrinkIfEmpty()
    return item
  }

  /// A request was cancelled, or its time is over. Same cost as `submit`. A running request keeps its permit until
  /// `finish`.
  package mutating func withdraw(_ ticket: Ticket) -> Withdrawal<Item> {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket) else { return .gone }
    switch nodes[slot].state {
    case .waiting:
      let item = expel(slot)
      pump()
      nodes.shrinkIfEmpty()
      return .waiting(item)
    case .granted:
      // Its start was decided but not delivered yet. It never starts, and the permit goes to the next request.
      granted.remove(slot, in: &nodes)
      return .waiting(finish(slot, hasStarted: false))
    case .running:
      nodes[slot].state = .ending
      return .running
    case .ending, .free:
      return .gone
    }
  }

  /// A running request is sent again, to another end-point (a redirect) or to the same one. It never holds the old
  /// permit while it waits for the new one, and waits with the age of its first submission. At the same end-point it
  /// waits only if its start must be counted by more than the permit that it holds; otherwise it keeps the permit.
  /// O(log n) in the number of returning requests.
  ///
  /// - Parameter deadline: When it ends by itself. It is refused if the new end-point is paused until then.
  package mutating func move(
    _ ticket: Ticket, to endPoint: EndPoint, until deadline: Deadline = .distantFuture
  ) -> Move {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .refused(.shutDown) }
    let old = nodes[slot].endPoint
    if endPoints[old].endPoint == endPoint {
      // Running requests may finish at an end-point that was stopped manually, and while the gate closes.
      if !countsStarts(of: slot) || endPoints[old].isStopped || closing >= .ending { return .stays }
    }
    guard closing < .ending else { return .refused(.shutDown) }
    let place = take(endPoint)
    if isTimed {
      watch(place)
      if let refusal = refusal(place, named(by: slot), weights(of: slot), until: deadline) {
        restIfIdle(place)
        return .refused(refusal)
      }
    }
    takeBack(slot)
    nodes[slot].endPoint = place
    nodes[slot].state = .waiting
    exchangeSockets(of: slot)
    // It joins its lane before the permit is passed on: no younger request at the new end-point may get the freed
    // permit.
    enqueue(slot)
    updateTurns(old)
    proceed(at: nodes[slot].endPoint)
    restIfIdle(old)
    // A draining gate must check again: nothing starts at an end-point that was stopped manually.
    if closing != .open, endPoints[nodes[slot].endPoint].isStopped { sweep = 0 }
    return .moved
  }

  /// A request that holds a permit, and was not sent, waits again, with its age. Nothing counts its start. Returns false
  /// if it holds no permit, or if nothing that waits would start any more. O(log n).
  mutating func putBack(_ ticket: Ticket) -> Bool {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running, closing < .ending else { return false }
    uncharge(slot)
    takeBack(slot)
    nodes[slot].state = .waiting
    enqueue(slot)
    proceed(at: nodes[slot].endPoint)
    if closing != .open, endPoints[nodes[slot].endPoint].isStopped { sweep = 0 }
    return true
  }

  /// Whether a request like this one, which holds a permit, is counted each time it is sent: by a rate, a budget, a
  /// pause or one of its scopes.
  package func countsStarts(of ticket: Ticket) -> Bool { nodes.slot(of: ticket).map { countsStarts(of: $0) } ?? false }

  private func countsStarts(of slot: Int32) -> Bool {
    endPoints[nodes[slot].endPoint].scope >= 0 || !named(by: slot).isEmpty
  }

  /// The scopes of an arriving request. Increments the number of users of each.
  private mutating func take(_ needs: StartNeeds?, at place: Int32) -> [Int32] {
    guard let needs else { return [] }
    var taken: [Int32] = []
    taken.reserveCapacity(needs.scopes.count + 1)
    for name in needs.scopes {
      let (scope, isNew) = scopes.take(.named(name))
      if isNew {
        // As many are forgotten as arrive, at least.
        scopes.forget(at: now)
        adoptLimits(of: name, scope)
      }
      taken.append(scope)
    }
    if needs.needsSocket { taken.append(takeSockets(of: place)) }
    return taken
  }

  private mutating func takeSockets(of place: Int32) -> Int32 {
    let scope = scopes.take(.sockets(endPoints[place].endPoint)).slot
    scopes[scope].most = endPoints[place].mostWithSocket
    return scope
  }

  /// A request that needs a socket has moved to another end-point.
  private mutating func exchangeSockets(of slot: Int32) {
    let demand = nodes[slot].demand
    guard demand >= 0, demands[demand].needsSocket, let old = demands[demand].scopes.popLast() else { return }
    demands[demand].scopes.append(takeSockets(of: nodes[slot].endPoint))
    scopes.leave(old, at: now)
  }

  /// The number of sockets at an end-point may have changed. The caller pumps.
  private mutating func adoptSockets(of place: Int32) {
    guard !scopes.isEmpty, let scope = scopes.slot(of: .sockets(endPoints[place].endPoint)) else { return }
    scopes[scope].most = endPoints[place].mostWithSocket
    markDirty(scope)
  }

  private mutating func adoptLimits(of name: RequestScope, _ scope: Int32) {
    let own = limits.scopes[name]
    scopes[scope].most = own?.requests ?? .max
    adoptPace(own?.pace, scope)
  }

  /// Changes the priority of a request. A waiting one moves to the place that it would have had from the start. Returns
  /// false if it is no longer here. O(log n).
  package mutating func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Bool {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket) else { return false }
    let waits = nodes[slot].state == .waiting
    if waits { leaveLane(slot) }
    nodes[slot].priority = priority
    nodes[slot].rank = rank(of: nodes[slot].age, priority)
    guard waits else { return true }
    joinLane(slot)
    // Another request may be first now, with a smaller weight.
    if isTimed {
      updateTurns(nodes[slot].endPoint)
      pump()
    }
    return true
  }

  /// Stops an end-point manually, or resumes it. While it is stopped nothing starts there, and running requests may
  /// finish. O(1) plus the requests that start.
  package mutating func setStopped(_ isStopped: Bool, at endPoint: EndPoint) {
    defer { checkInvariants() }
    if isStopped { stopped.insert(endPoint) } else { stopped.remove(endPoint) }
    // A request that waits there while the gate closes would never run. Another sweep ends it.
    if isStopped, closing != .open { sweep = 0 }
    guard let place = endPoints.slot(of: endPoint) else { return }
    endPoints[place].isStopped = isStopped
    proceed(at: place)
  }

  /// The transport has observed whether an end-point's sockets carry several requests at a time. If they do, its limit
  /// on requests applies to running requests; otherwise its limit on connections does. Ends no request. Forgotten when
  /// the end-point has been idle for a long time. O(1) plus the requests that start.
  package mutating func setMultiplexing(_ multiplexes: Bool, at endPoint: EndPoint) {
    defer { checkInvariants() }
    guard let place = endPoints.slot(of: endPoint), endPoints[place].multiplexes != multiplexes else { return }
    endPoints[place].multiplexes = multiplexes
    adoptSockets(of: place)
    guard !endPoints[place].isResting else { return }
    proceed(at: place)
  }

  /// Closes the gate, or closes it in a stricter mode.
  package mutating func close(_ mode: Closing) {
    defer { checkInvariants() }
    guard mode > closing else { return }
    closing = mode
    sweep = 0
  }
}

// MARK: Expected items

// Expected requests: they are elsewhere for a while, without a permit or a place in a queue, and may return. New ones
// are accepted only while the scheduler is open.

extension Scheduler {
  /// Announces an item that will be submitted later as `expected`, or withdrawn by `forgetExpected`. O(1).
  ///
  /// - Parameter wasHere: Whether it is known already, because it holds a permit. If so, it is also expected while the
  ///   scheduler drains.
  /// - Returns: False if the scheduler closes: then the item is not expected.
  package mutating func expect(wasHere: Bool) -> Bool {
    guard closing == .open || wasHere && closing == .draining else { return false }
    expected += 1
    return true
  }

  /// An expected item will not come. O(1).
  package mutating func forgetExpected() {
    defer { checkInvariants() }
    expected -= 1
  }

  /// Whether an item may be admitted as far as closing is concerned.
  mutating func admit(_ admission: Admission) -> Bool {
    switch admission.kind {
    case .new, .returning: return closing == .open
    case .onBehalf: return closing == .open || closing == .draining && expected > 0
    case .expected:
      expected -= 1
      return closing < .ending
    }
  }
}

// MARK: The long lane

// The move of a running request to the long lane, for a short request that turns out to be a stream.

extension Scheduler {
  /// Moves a running short request to the long lane. It keeps its permit, and the long lane has one place less. No
  /// request becomes eligible, so none starts. O(1).
  package mutating func reclass(_ ticket: Ticket) -> Reclass {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .gone }
    guard nodes[slot].lane == .short else { return .stays }
    let place = nodes[slot].endPoint
    guard runningLong < limits.totalLong, !endPoints[place].isLongLaneFull else { return .refused }
    nodes[slot].lane = .long
    runningLong += 1
    endPoints[place].runningLong += 1
    // Requests that wait in the long lane still have a place there, so no turn at the total limit changes.
    return .moved
  }
}

// MARK: Limits

extension Scheduler {
  /// Replaces the limits. Lower limits end no request: nothing more starts until it fits. After higher ones, all
  /// requests that now fit start. O(end-points) plus the requests that start.
  package mutating func setLimits(_ limits: GateLimits) {
    defer { checkInvariants() }
    self.limits = limits
    limitsVersion += 1
    hasPace = limits.hasPace
    learns = limits.adaptive != nil
    shedding.adopt(limits.overflow.sheddingRule, in: &nodes)
    endPoints.adoptIdle(limits)
    for scope in scopes.all {
      adoptPolicies(scope)
      scopes.policiesChanged(of: scope, at: now)
    }
    for place in endPoints.busySlots {
      endPoints[place].limits = limits.of(endPoints[place].endPoint)
      adoptPace(at: place)
      adoptSockets(of: place)
      updateTurns(place)
    }
    for scope in scopes.all {
      guard let name = scopes[scope].scope else { continue }
      adoptLimits(of: name, scope)
      markDirty(scope)
    }
    pump()
  }

  /// Sets a limit for one end-point; nil restores the common one. O(labels of its host) plus the requests that start.
  package mutating func setLimits(_ own: EndPointLimits?, for endPoint: EndPoint) {
    defer { checkInvariants() }
    limits.overrides[endPoint] = own
    if own?.pace != nil { hasPace = true }
    limitsVersion += 1
    guard let place = endPoints.slot(of: endPoint) else { return }
    endPoints[place].limits = limits.of(endPoint)
    guard !endPoints[place].isResting else { return }
    adoptSockets(of: place)
    adoptPace(at: place)
    proceed(at: place)
  }

  /// The limits of an end-point where something runs or waits have changed.
  private mutating func adoptPace(at place: Int32) {
    if endPoints[place].scope >= 0 {
      adoptLearning(at: place)
      adoptPace(endPoints[place].limits.pace, endPoints[place].scope)
    } else {
      watch(place)
    }
  }
}
