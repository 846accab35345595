#if Redis
import HeadgateGate
import HeadgateThreads

/// The thread of a link. It connects, renews, and connects again after a failure.
final class RedisThread {
  /// How long the thread tries to connect before requests are told that Redis can't be reached, unless a lease is valid
  /// for longer.
  private static let patience = Duration.seconds(2)
  /// How often a waiting program asks, in case a hint was lost.
  private static let interval = Duration.milliseconds(250)

  /// How often memory of end-points that nobody uses is given back, until there is no more.
  private static let pauseBetweenLeftovers = Duration.milliseconds(10)

  private let link: RedisLink
  private let poller: Poller
  private let url: RedisURL
  private let namespace: String
  private let name: String
  private let lease: Duration
  private var epoch = "0"
  private var sequence = 0
  private var wasConnected = false
  private var validUntil = ContinuousClock.now
  private var events: [PollEvent] = []

  init(_ link: RedisLink, _ poller: Poller, _ url: RedisURL, namespace: String, name: String, lease: Duration) {
    (self.link, self.poller, self.url, self.namespace) = (link, poller, url, namespace)
    (self.name, self.lease) = (name, lease)
  }

  func run() {
    while !link.isOver {
      if link.isIdle {
        poller.wait(until: .distantFuture, into: &events)
        continue
      }
      guard let session = connect() else { return }
      poller.add(session.hintDescriptor, .read)
      do throws(RedisError) {
        try serve(session)
        try session.detach()
        wasConnected = false
      } catch {
        // The outcome of the last step is not known: the next session declares what is really held.
        validUntil = session.validUntil
        if error.kind == .refused { link.goDown(error.description) }
        poller.wait(until: .after(.milliseconds(20)), into: &events)
      }
      poller.remove(session.hintDescriptor)
    }
  }

  /// Connects and attaches. Nil after the shutdown.
  private func connect() -> RedisSession? {
    let patient = max(validUntil, .now + Self.patience)
    var pause = Duration.milliseconds(50)
    while !link.isOver {
      do throws(RedisError) {
        let session = try RedisSession(
          url, namespace: namespace, name: name, lease: lease, isFirst: !wasConnected,
          validUntil: validUntil)
        try attach(session)
        wasConnected = true
        link.goUp()
        return session
      } catch {
        if ContinuousClock.now >= patient || error.kind == .refused { link.goDown(error.description) }
      }
      // Spread, so that programs do not all come back at once.
      let until = Deadline.after(pause * Double.random(in: 0.5...1))
      while Deadline.now < until, !link.isOver { poller.wait(until: until, into: &events) }
      // The first that is back lets time pass for all leases: the others must not be late.
      pause = min(pause * 2, .seconds(2), lease / 3)
    }
    return nil
  }

  private func attach(_ session: RedisSession) throws(RedisError) {
    while true {
      let endOfLease = session.validUntil
      let claims = link.withLedger { $0.claims() }
      let isStale = ContinuousClock.now >= endOfLease
      sequence += 1
      let attached = try session.attach(epoch: epoch, sequence: sequence, claims: claims, isStale: isStale)
      validUntil = session.validUntil
      epoch = String(session.tick.prefix { $0 != "." })
      if attached.learning > .zero {
        HeadgateLog.warn(
          .dispatcher,
          "Waiting up to \(attached.learning): Redis at \(url) does not know the namespace \(ShownText.of(namespace)), or has restarted"
        )
      }
      let believedUntil = attached.isBelieved ? endOfLease : nil
      let lost = link.withLedger { $0.keepOnly(attached.confirmed, believedUntil: believedUntil, now: .now) }
      if lost == 0 { return }
      // A permit is lost even if Redis has confirmed a part of it. The next declaration returns that part.
      warn(ofLost: lost)
    }
  }

  private func warn(ofLost count: Int) {
    guard count > 0 else { return }
    HeadgateLog.warn(.dispatcher, "The lease at \(url) had expired: \(count) requests continue without a permit")
  }

  /// Steps until the program has been idle for the time of a lease.
  private func serve(_ session: RedisSession) throws(RedisError) {
    var renewal = Deadline.after(lease / 3)
    var asking = Deadline.now
    var idleSince: Deadline? = nil
    while !link.isOver {
      let (isWaiting, isIdle, hasNews) = link.withLedger { ($0.isWaiting, $0.isIdle, $0.hasNews) }
      if !isIdle { idleSince = nil } else if idleSince == nil { idleSince = .now }
      if let idleSince, Deadline.now >= idleSince + lease { return }
      let isHinted = try session.takeHints()
      if hasNews || isHinted || Deadline.now >= renewal || (isWaiting && Deadline.now >= asking) {
        if isWaiting, Deadline.now >= asking { link.withLedger { $0.repeatWishes() } }
        let sent = Deadline.now
        guard let step = try session.step(link.withLedger { $0.takeNews() }) else {
          try attach(session)
          continue
        }
        renewal = sent + (step.hasMore ? Self.pauseBetweenLeftovers : lease / 3)
        asking =
          .now + min(Self.interval, step.retry.map { $0 + .milliseconds(Int.random(in: 0...20)) } ?? Self.interval)
        // A reply that came too late counts as none: others may have been granted the same.
        guard ContinuousClock.now < session.validUntil else { throw RedisError("a reply came too late", .broken) }
        link.granted(step.grants, programs: step.programs)
        link.heard(step.pauses)
        continue
      }
      // An idle program renews too, until it leaves: the scripts take a longer silence for a step of the clock.
      var next = min(renewal, isWaiting ? asking : .distantFuture)
      if let idleSince { next = min(next, idleSince + lease) }
      poller.wait(until: next, into: &events)
    }
    // The last releases.
    repeat { _ = try session.step(link.withLedger { $0.takeNews() }) } while link.withLedger { $0.hasNews }
  }
}
#endif
