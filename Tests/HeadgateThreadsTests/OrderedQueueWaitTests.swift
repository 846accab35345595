import HeadgateThreads
import Testing

/// Events between a call's check of an ordered queue and its sleep, and the ends of waits for a place.
@Suite(.timeLimit(.minutes(2))) struct OrderedQueueWaitTests {
  /// A manual clock that runs an action when it is read, as another thread might at that moment.
  final class MeddlingClock: TimerService {
    private struct Meddling {
      var looks: Int
      var action: @Sendable () -> Void
    }

    let start = StandingClock().now
    private let clock = StandingClock()
    private let meddling = Locked<Meddling?>(nil)

    /// At the reading with this number, counted from 1.
    func meddle(at look: Int, _ action: @escaping @Sendable () -> Void) {
      meddling.withLock { $0 = Meddling(looks: look, action: action) }
    }

    var now: Deadline {
      let due = meddling.withLock { meddling -> Meddling? in
        meddling?.looks -= 1
        return meddling?.looks == 0 ? meddling.take() : nil
      }
      due?.action()
      return clock.now
    }

    var pendingCount: Int { clock.pendingCount }
    var nextDeadline: Deadline? { clock.nextDeadline }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
      clock.schedule(at: deadline, action)
    }

    func cancel(_ timer: ScheduledTimer) -> Bool { clock.cancel(timer) }
  }

  @Test(
    "P10 P16 an element or a close between a taker's check and its sleep is not missed", arguments: [true, false],
    [true, false])
  func beforeTakerSleeps(isClose: Bool, isTask: Bool) async throws {
    let clock = MeddlingClock()
    let queue = DelayQueue<Int>(timers: clock)
    let limit = clock.now + .seconds(3600)
    // It reads the clock once for due elements, and once for its deadline, before it joins the line.
    clock.meddle(at: 2) {
      if isClose { queue.close() } else { expectAccepted(queue.tryPut(7, due: .distantPast)) }
    }
    let end =
      if isTask {
        await ending { () async throws in try await queue.take(until: limit) }
      } else {
        try Blocked { ending { () throws(WaitError) in try queue.take(until: limit) } }.result()
      }
    #expect(end == (isClose ? .error(.closed) : .value(7)))
  }

  @Test(
    "P10 P16 a place or a close between a putter's check and its sleep is not missed", arguments: [true, false],
    [true, false])
  func beforePutterSleeps(isClose: Bool, isTask: Bool) async throws {
    let clock = MeddlingClock()
    let queue = try DelayQueue<Int>(capacity: 1, timers: clock)
    expectAccepted(queue.tryPut(1, due: .distantPast))
    let limit = clock.now + .seconds(3600)
    // It reads the clock only for its deadline.
    clock.meddle(at: 1) {
      if isClose {
        queue.close()
      } else {
        #expect(ending { () throws(WaitError) in try queue.tryTake() ?? 0 } == .value(1))
      }
    }
    let end =
      if isTask {
        await ending(of: { () async throws in try await queue.put(2, due: .distantPast, until: limit) })
      } else {
        try Blocked {
          ending(of: { () throws(WaitError) in try queue.put(2, due: .distantPast, until: limit) })
        }.result()
      }
    #expect(end == (isClose ? .error(.closed) : .done))
  }

  @Test("P27 an element that is due before all others wakes the leader, though another is ahead in the line")
  func leaderBehindAnother() throws {
    let clock = MeddlingClock()
    let queue = DelayQueue<Int>(timers: clock)
    let first = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { queue.waitingCounts.takers == 1 })
    let second = Locked<Blocked<Ending>?>(nil)
    // While the first, woken by an element that is not due, reads the clock, another arrives and leads.
    clock.meddle(at: 1) {
      let taker = try? Blocked { ending { () throws(WaitError) in try queue.take() } }
      second.withLock { $0 = taker }
      #expect(until { queue.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    }
    try queue.put(9, due: clock.start + .seconds(9))
    #expect(until { queue.waitingCounts.takers == 2 })
    let due = clock.start + .seconds(1)
    try queue.put(1, due: due)
    #expect(until { queue.waitingCounts.takers == 2 && clock.nextDeadline == due })
    clock.advance(by: .seconds(1))
    #expect(until { queue.count == 1 })
    #expect(until { queue.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(8))
    let ends = [try first.result(), try second.withLock({ $0 })?.result()]
    #expect(Set(ends) == [.value(1), .value(9)])
  }

  @Test("P08 a wait for a place ends at its deadline and by a cancellation; an available place is always taken")
  func waitsForPlace() async throws {
    let queue = try PriorityBlockingQueue<Int, Int>(capacity: 1)
    try await queue.put(1, priority: 1, until: .distantPast)
    for limit in [Deadline.distantPast, .after(.milliseconds(1))] {
      #expect(
        await ending(of: { () async throws in try await queue.put(2, priority: 2, until: limit) })
          == .error(.timedOut))
      #expect(
        try Blocked { ending(of: { () throws(WaitError) in try queue.put(2, priority: 2, until: limit) }) }.result()
          == .error(.timedOut))
    }
    let task = Task { await ending(of: { () async throws in try await queue.put(3, priority: 3) }) }
    task.cancel()
    #expect(await task.value == .cancelledTask)
    let thread = try Blocked { ending(of: { () throws(WaitError) in try queue.put(4, priority: 4) }) }
    thread.cancel()
    #expect(try thread.result() == .error(.cancelled))
    #expect(try queue.tryTake() == 1)
    #expect(try queue.tryTake() == nil)
  }

  @Test("P97 a blocking call refuses to block a thread of Swift's tasks, but works if it need not wait")
  func inTask() throws {
    let queue = try PriorityBlockingQueue<Int, Int>(capacity: 1)
    func put(_ number: Int) -> Ending { ending(of: { () throws(WaitError) in try queue.put(number, priority: 0) }) }
    func take() -> Ending { ending { () throws(WaitError) in try queue.take() } }
    #expect(put(1) == .done)
    #expect(put(2) == .error(.onCooperativeThread))
    #expect(take() == .value(1))
    #expect(take() == .error(.onCooperativeThread))
  }
}
