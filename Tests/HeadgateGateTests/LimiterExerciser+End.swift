import HeadgateThreads

@testable import HeadgateGate

// The gate closes in a random mode, and everything ends.

extension LimiterExerciser {
  mutating func finishAll() -> String? {
    // As a gate does before each event, since time may have passed.
    advance()
    let mode =
      [Closing.draining, .draining, .ending, .aborting].randomElement(using: &random) ?? .draining
    if Bool.random(using: &random) {
      for place in stopped { scheduler.setStopped(false, at: endPoints[place]) }
      stopped = []
      if let broken = drain() { return broken }
    }
    scheduler.close(mode)
    guard case .refused(.shutDown) = scheduler.submit(-1, to: endPoints[0], .short, mayStart: true) else {
      return "a closed gate took one"
    }
    var isDrained = false
    for _ in 0..<200_000 where !isDrained {
      while let effect = scheduler.next() {
        if isDrained { return "something came after the end" }
        if case .drained = effect { isDrained = true } else if let broken = closing(effect, mode) { return broken }
      }
      if isDrained { break }
      if let broken = closeSome(mode) { return broken }
    }
    if !isDrained || !known.isEmpty { return "\(known.count) never ended" }
    return leftovers()
  }

  private mutating func closing(_ effect: Scheduler<Int>.Effect, _ mode: Closing) -> String? {
    switch effect {
    case .start(let item, let ticket):
      return mode == .draining ? start(item, ticket, after: scheduler.waited) : "something starts at the end"
    case .admit(let item): return admit(item)
    case .end(let item):
      guard let entry = known[item], entry.stand == .waiting, mode > .draining || stopped.contains(entry.endPoint)
      else {
        return "someone was ended who should not be"
      }
      if let broken = wrongSum(scheduler.waited, of: entry) { return broken }
      guard case .gone = scheduler.withdraw(entry.ticket) else { return "who was ended is still there" }
      remove(item)
      return nil
    case .abort(let item):
      guard mode == .aborting, known[item]?.stand == .running else { return "someone was aborted who should not be" }
      known[item]?.stand = .ending
      return nil
    case .shed, .drained: return "a closed gate lets someone give way"
    }
  }

  /// A running request ends, or time passes until another may start.
  private mutating func closeSome(_ mode: Closing) -> String? {
    if mode > .draining, known.values.contains(where: { $0.stand == .waiting }) {
      return "one that waits was not ended"
    }
    guard let (item, entry) = anyone({ $0 != .waiting }) else {
      guard let wakeAt = scheduler.wakeAt else { return "\(known.count) wait for nothing: \(known)" }
      now = max(now, wakeAt.nanoseconds)
      scheduler.wake(at: Deadline(nanoseconds: now))
      rest()
      return nil
    }
    if mode == .aborting, entry.stand == .running { return "one that runs was not asked to end" }
    if scheduler.finish(entry.ticket) != item { return "one that runs could not finish" }
    remove(item)
    rest()
    return nil
  }

  private mutating func leftovers() -> String? {
    scheduler.advance(to: Deadline(nanoseconds: now + 3_600_000_000_000))
    for _ in 0..<20 { scheduler.advance(to: .distantPast) }
    if scheduler.running + scheduler.waiting + scheduler.nodes.count != 0 { return "something runs or waits" }
    if scheduler.endPoints.busyCount != 0 { return "an end-point is remembered" }
    if !scheduler.scopes.isEmpty { return "a scope is never forgotten" }
    if scheduler.wakeAt != nil { return "something sleeps for ever" }
    if !scheduler.meters.isEmpty { return "a meter is left" }
    return scheduler.lines.isEmpty && scheduler.linesAt.isEmpty && scheduler.groups.isEmpty && scheduler.demands.isEmpty
      ? nil : "a line is left"
  }
}
