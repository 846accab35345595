extension Scheduler {
  /// Replaces the limits. Lower limits end no request: nothing more starts until it fits. After higher ones, all
  /// requests that now fit start. O(end-points) plus the requests that start.
  package mutating func setLimits(_ limits: GateLimits) { updateLimits { $0 = limits } }

  /// Changes a part of the current limits. Otherwise like `setLimits`.
  package mutating func updateLimits(_ change: (inout GateLimits) -> Void) {
    defer { checkInvariants() }
    change(&limits)
    limitsVersion += 1
    hasPace = limits.hasPace
    shedding.adopt(limits.overflow.sheddingRule, in: &nodes)
    endPoints.forgetIdle()
    for scope in scopes.all { adoptPolicies(scope) }
    for place in endPoints.busySlots {
      endPoints[place].limits = limits.of(endPoints[place].endPoint)
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

  /// Sets a limit for one end-point; nil restores the common one. O(labels of its host) plus the requests that start.
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
