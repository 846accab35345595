extension Scheduler {
  /// The limits change. Lower ones end nothing: no more is started until it fits. Higher ones start all that became
  /// eligible. O(end-points) plus what starts.
  package mutating func setLimits(_ limits: GateLimits) { updateLimits { $0 = limits } }

  /// The same, by a change of those in force.
  package mutating func updateLimits(_ change: (inout GateLimits) -> Void) {
    defer { checkInvariants() }
    change(&limits)
    limitsVersion += 1
    hasPace = limits.hasPace
    shedding.adopt(limits.overflow.sheddingRule, in: &nodes)
    endPoints.forgetIdle()
    for scope in scopes.all { adoptPolicies(scope) }
    for place in endPoints.busySlots {
      guard let endPoint = endPoints[place].endPoint else { continue }
      endPoints[place].limits = limits.of(endPoint)
      adoptPace(at: place)
      updateTurns(place)
    }
    for scope in scopes.all {
      guard let name = scopes[scope].scope else { continue }
      scopes[scope].most = limits.scopes[name]?.requests ?? .max
      adoptPace(limits.scopes[name]?.pace, scope)
      markDirty(scope)
    }
    pump()
  }

  /// One end-point gets a limit of its own, or with nil the common one again. O(labels of its host) plus what starts.
  package mutating func setLimits(_ own: EndPointLimits?, for endPoint: EndPoint) {
    defer { checkInvariants() }
    limits.overrides[endPoint] = own
    if own?.pace != nil { hasPace = true }
    limitsVersion += 1
    guard let place = endPoints.slot(of: endPoint) else { return }
    endPoints[place].limits = limits.of(endPoint)
    guard !endPoints[place].isResting else { return }
    adoptPace(at: place)
    proceed(at: place)
  }

  /// An end-point where something runs or waits has other limits.
  private mutating func adoptPace(at place: Int32) {
    if endPoints[place].scope >= 0 {
      adoptLearning(at: place)
      adoptPace(endPoints[place].limits.pace, endPoints[place].scope)
    } else {
      watch(place)
    }
  }
}
