/// The server's side of leases, as the scripts for Redis keep it: one scope, permits of one unit. Time comes in
/// milliseconds of the server's clock, which may jump.
struct LeaseServer {
  /// Faults to be found.
  struct Faults: OptionSet {
    let rawValue: Int
    /// A new epoch is the time in seconds, so that two in one second are equal.
    static let epochInSeconds = Faults(rawValue: 1)
    /// A server that has lost its data grants as soon as all sessions that it knows have come back.
    static let endsLearningEarly = Faults(rawValue: 2)
    /// Commands of an earlier connection have an effect.
    static let acceptsOldTicks = Faults(rawValue: 4)
    /// A declaration of an earlier connection has an effect.
    static let acceptsOldAttaches = Faults(rawValue: 8)
    /// A step of the clock ends leases.
    static let believesClock = Faults(rawValue: 16)
    /// Nothing is learned after a restart.
    static let learnsNothing = Faults(rawValue: 32)
  }

  struct Tick: Hashable {
    var epoch: Int
    var generation: Int
  }

  struct Attached {
    let tick: Tick
    let confirmed: Int
    let isBelieved: Bool
  }

  private struct Session {
    var deadline: Int
    var tick: Tick
    var sequence: Int
    var held = 0
    var wanted = 0
    var given = 0
    var since = 0
  }

  let limit: Int
  let lease: Int
  let faults: Faults
  private var sessions: [Int: Session] = [:]
  private(set) var used = 0
  private var last = 0
  private var offset = 0
  private var run: Int?
  private var epoch = 0
  private var generation = 0
  private var learnsUntil = 0
  private var grace = 0
  private var left = 0
  private var isWiped = false
  private var turn = 0

  init(limit: Int, lease: Int, faults: Faults = []) { (self.limit, self.lease, self.faults) = (limit, lease, faults) }

  /// All data are lost.
  mutating func wipe() { self = LeaseServer(limit: limit, lease: lease, faults: faults) }

  private mutating func read(_ time: Int) -> Int {
    var now = time + offset
    let isStep = now < last || (now - last > lease / 2 && !sessions.isEmpty)
    if last > 0, isStep, !faults.contains(.believesClock) {
      offset += last - now
      now = last
    }
    last = max(last, now)
    return now
  }

  private func isAlive(_ session: Session, _ now: Int) -> Bool { session.deadline >= now || now < grace }

  /// - Parameters:
  ///   - sequence: How many declarations the program has sent before.
  ///   - run: The server's run, which the program has read.
  ///   - isStale: Whether the program's lease has ended.
  /// - Returns: Nil for a declaration that a later one has overtaken.
  mutating func attach(
    _ me: Int, sequence: Int, known: Int, run: Int, claim: Int, isStale: Bool, at time: Int
  ) -> Attached? {
    let now = read(time)
    if let session = sessions[me], session.sequence >= sequence, !faults.contains(.acceptsOldAttaches) { return nil }
    if self.run != run {
      let base = faults.contains(.epochInSeconds) ? time / 1000 : time
      epoch = faults.contains(.epochInSeconds) ? base : max(epoch + 1, known + 1, base)
      if !faults.contains(.learnsNothing) { (learnsUntil, grace) = (now + lease, now + lease) }
      isWiped = self.run == nil
      left = sessions.count
      self.run = run
    }
    let isLearning = learnsUntil > now
    let before = sessions[me]
    if let before, before.tick.epoch < epoch { left -= 1 }
    generation += 1
    let has = before?.held ?? 0
    let wasAlive = before.map { isAlive($0, now) } ?? false
    let isBelieved = isLearning && !isStale
    let confirmed = isBelieved ? claim : min(claim, wasAlive ? has : 0)
    used += confirmed - has
    sessions[me] = Session(
      deadline: now + lease, tick: Tick(epoch: epoch, generation: generation), sequence: sequence, held: confirmed)
    if isLearning, left <= 0, !isWiped || faults.contains(.endsLearningEarly) { (learnsUntil, grace) = (0, 0) }
    pump(now)
    return Attached(tick: Tick(epoch: epoch, generation: generation), confirmed: confirmed, isBelieved: isBelieved)
  }

  /// Nil if the session has ended.
  mutating func step(_ me: Int, _ tick: Tick, released: Int, wanted: Int, at time: Int) -> Int? {
    let now = read(time)
    if now >= grace {
      for (name, session) in sessions where session.deadline < now {
        if session.tick.epoch < epoch { left -= 1 }
        used -= session.held
        sessions[name] = nil
      }
      pump(now)
    }
    guard var session = sessions[me], isAlive(session, now) else { return nil }
    let isCurrent = session.tick == tick && tick.epoch == epoch
    let isSimilar = faults.contains(.acceptsOldTicks) || faults.contains(.epochInSeconds) && tick.epoch == epoch
    guard isCurrent || isSimilar else { return nil }
    session.deadline = now + lease
    let back = min(released, session.held)
    session.held -= back
    used -= back
    session.wanted = max(0, wanted - session.given)
    if session.since == 0 {
      turn += 1
      session.since = turn
    }
    sessions[me] = session
    pump(now)
    defer { sessions[me]?.given = 0 }
    return sessions[me]?.given
  }

  private mutating func pump(_ now: Int) {
    guard learnsUntil <= now else { return }
    while used < limit {
      let waiting = sessions.filter { $0.value.wanted > 0 && isAlive($0.value, now) }
      guard let next = waiting.min(by: { $0.value.since < $1.value.since })?.key else { return }
      used += 1
      turn += 1
      sessions[next]?.held += 1
      sessions[next]?.given += 1
      sessions[next]?.wanted -= 1
      sessions[next]?.since = turn
    }
  }
}
