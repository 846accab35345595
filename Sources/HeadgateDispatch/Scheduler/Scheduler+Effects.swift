import DequeModule
import HeadgateThreads

extension Scheduler {
  /// The next effect; nil if there is none. O(1); while the gate closes, O(1) for each item in total.
  package mutating func next() -> Effect? {
    defer { checkInvariants() }
    if granted.first >= 0 {
      let slot = granted.first
      granted.remove(slot, in: &nodes)
      nodes[slot].state = .running
      if let item = nodes[slot].item {
        return .start(item, nodes.ticket(slot))
      }
    }
    if let item = shed.popFirst() { return .shed(item) }
    if mayAdmit, let slot = held.first?.place {
      release(held: slot)
      if let item = nodes[slot].item { return .admit(item) }
    }
    return closing == .open ? nil : nextOfClosing()
  }

  /// Whether `next()` would return something now.
  package var hasEffects: Bool {
    granted.first >= 0 || !shed.isEmpty || mayAdmit
      || closing != .open && (mustSweep || !drainedTold && isEmpty)
  }

  /// Whether items remain to be checked because the gate is closing. A draining gate ends only requests that can't run:
  /// those that wait for an end-point that was stopped manually.
  private var mustSweep: Bool {
    sweep < nodes.nodes.count && (closing >= .ending || closing == .draining && !paused.isEmpty)
  }

  private mutating func nextOfClosing() -> Effect? {
    while mustSweep {
      let slot = sweep
      sweep += 1
      switch nodes[slot].state {
      case .waiting where closing >= .ending || endPoints[nodes[slot].endPoint].isPaused:
        let item = expel(slot)
        if isTimed { pump() }
        if let item { return .end(item) }
      case .running where closing == .aborting:
        nodes[slot].state = .ending
        if let item = nodes[slot].item { return .abort(item) }
      default: break
      }
    }
    guard isEmpty, !drainedTold else { return nil }
    drainedTold = true
    return .drained
  }
}
