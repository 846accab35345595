import HeadgateThreads

// The primitives of every wait: the lock, the parker, the waiter.
extension Program {
  /// Every thread takes the lock a number of times, and changes the value that it guards.
  public static func lock(threads: Int, times: Int) -> Program {
    let (lock, plain) = (LockedBox(()), Plain())
    let body: @Sendable () -> Void = {
      for _ in 0..<times { lock.withLock { _ in plain.value += 1 } }
    }
    return Program(Array(repeating: body, count: threads)) {
      plain.value == threads * times ? nil : "it was changed \(plain.value) times"
    }
  }

  /// Writes before a token is left are visible to the thread that takes it.
  public static func parker() -> Program {
    let (parker, plain) = (Parker(), Plain())
    return Program([
      {
        if parker.park() { plain.value += 1 }
      },
      {
        plain.value += 1
        parker.unpark()
      },
    ]) { plain.value == 2 ? nil : "it came back without a token" }
  }

  /// A token that arrives as the deadline passes is not lost: it is taken now, or by the next park.
  public static func parkerInTime() -> Program {
    let parker = Parker()
    return Program([
      {
        let deadline = Deadline.now + .milliseconds(1)
        if parker.park(until: deadline) { return }
        assert(deadline <= .now, "it came back early")
        _ = parker.park()
      },
      { parker.unpark() },
    ])
  }

  /// A waiter that is woken, cancelled and past its deadline ends once; the caller that ended it gets true.
  public static func waiter(_ note: @escaping @Sendable (UInt8) -> Void) -> Program {
    let (waiter, outcome) = (LockedBox<Waiter?>(nil), LockedBox(Waiter.Outcome.pending))
    let (isWoken, record) = (LockedBox(false), LockedBox<ThreadRecord?>(nil))
    return Program([
      {
        let own = Waiter.ofThread()
        record.withLock { $0 = .current }
        waiter.withLock { $0 = own }
        let end = own.wait(until: .now + .milliseconds(1))
        outcome.withLock { $0 = end }
      },
      {
        let ended = waiter.withLock { $0 }?.end(.woken) ?? false
        isWoken.withLock { $0 = ended }
      },
      { record.withLock { $0 }?.cancel() },
    ]) {
      let (outcome, isWoken) = (outcome.withLock { $0 }, isWoken.withLock { $0 })
      note(outcome.rawValue)
      return (outcome == .woken) == isWoken ? nil : "the two don't agree: \(outcome), woken: \(isWoken)"
    }
  }

  /// Two threads wait for a permit each, one of them only briefly; each of two permits reaches a waiter.
  public static func line() -> Program {
    let (permits, isServed) = (Permits(), LockedBox(false))
    return Program([
      {
        let served = permits.take(until: .now + .milliseconds(1))
        isServed.withLock { $0 = served }
      },
      { _ = permits.take(until: .distantFuture) },
      {
        permits.give()
        permits.give()
      },
    ]) {
      let left = permits.left
      return left == (isServed.withLock { $0 } ? 0 : 1) ? nil : "\(left) permits are left"
    }
  }

  /// One thread waits in two lines, and a permit arrives in each: it takes one, the other one stays.
  public static func twoLines() -> Program {
    let (first, second) = (Permits(), Permits())
    return Program([
      { Permits.takeEither(first, second) },
      { first.give() },
      { second.give() },
    ]) {
      let left = first.left + second.left
      return left == 1 ? nil : "\(left) permits are left"
    }
  }

  /// A task that waits for a permit gets it, even if it is cancelled meanwhile.
  public static func task(isCancelled: Bool) -> (
    permits: @Sendable () async -> Void, give: @Sendable () -> Void, verdict: () -> String?
  ) {
    let (permits, isServed) = (Permits(), LockedBox(false))
    return (
      {
        let served = await permits.take()
        isServed.withLock { $0 = served }
      },
      { permits.give() },
      {
        let (left, isServed) = (permits.left, isServed.withLock { $0 })
        if !isCancelled, !isServed { return "it was not served" }
        return left == (isServed ? 0 : 1) ? nil : "\(left) permits are left"
      }
    )
  }
}

/// The simplest use of waiters: a line, and permits.
private final class Permits: Sendable {
  private struct State {
    var count = 0
    var waiters = WaitList()
  }

  private let state = LockedBox(State())

  var left: Int { state.withLock { $0.count } }

  func give() {
    let waiter = state.withLock { state -> Waiter? in
      if let waiter = state.waiters.claimFirst() { return waiter }
      state.count += 1
      return nil
    }
    waiter?.wake()
  }

  func take(until deadline: Deadline) -> Bool {
    let waiter = Waiter.ofThread()
    if !lineUp(waiter) { return true }
    return leave(waiter, waiter.wait(until: deadline))
  }

  func take() async -> Bool {
    let waiter = Waiter.ofTask()
    if !lineUp(waiter) { return true }
    return leave(waiter, await waiter.wait(until: .distantFuture))
  }

  static func takeEither(_ first: Permits, _ second: Permits) {
    let waiter = Waiter.ofThread()
    let other = waiter.standIn()
    guard first.lineUp(waiter) else { return }
    if second.lineUp(other) {
      _ = waiter.wait(until: .distantFuture)
    } else if !waiter.claim(.cancelled) {
      // Both: one is returned.
      second.give()
    }
    _ = first.leave(waiter, .cancelled)
    _ = second.leave(other, .cancelled)
  }

  /// False: it has a permit at once.
  private func lineUp(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      if state.count > 0 {
        state.count -= 1
        return false
      }
      state.waiters.append(waiter)
      return true
    }
  }

  private func leave(_ waiter: Waiter, _ outcome: Waiter.Outcome) -> Bool {
    if outcome != .woken { state.withLock { _ = $0.waiters.remove(waiter) } }
    return outcome == .woken
  }
}
