import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite(.timeLimit(.minutes(2))) struct BlockingQueueWaitTests {
  @Test("P06 a put at its deadline: the element is in the queue or returned, never both", arguments: [0, 1])
  func timeoutRace(capacity: Int) throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let accepted = Record<Int>()
    let taken = Record<Int>()
    try onThreads(2) { number in
      var random = SeededRandom(seed: 6 + UInt64(number))
      for round in 0..<3000 {
        let deadline = Deadline.after(.nanoseconds(Int64.random(in: 0..<30_000, using: &random)))
        if number == 0 {
          let result = ending(of: { () throws(WaitError) in try queue.put(round, until: deadline) })
          if result == .done { accepted.add(round) }
        } else if case .value(let value) = ending({ () throws(WaitError) in try queue.take(until: deadline) }) {
          taken.add(value)
        }
      }
    }
    for value in queue.drain() { taken.add(value) }
    #expect(taken.events == accepted.events)
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P10 no wake-up is lost between the check and the sleep", arguments: [0, 1, 2])
  func noLostWakeUp(capacity: Int) throws {
    let (there, back) = (try BlockingQueue<Int>(capacity: capacity), try BlockingQueue<Int>(capacity: capacity))
    try onThreads(2) { number in
      for round in 0..<3000 {
        if number == 0 {
          let put = ending(of: { () throws(WaitError) in try there.put(round, until: .after(generous)) })
          let took = ending { () throws(WaitError) in try back.take(until: .after(generous)) }
          guard put == .done, took == .value(round) else {
            Issue.record("round \(round): \(put) \(took)")
            return
          }
        } else {
          let took = ending { () throws(WaitError) in try there.take(until: .after(generous)) }
          let put = ending(of: { () throws(WaitError) in try back.put(round, until: .after(generous)) })
          guard put == .done, took == .value(round) else {
            Issue.record("round \(round): \(put) \(took)")
            return
          }
        }
      }
    }
  }

  @Test("P11 a waiter that gives up while it is woken passes the wake-up on", arguments: [true, false])
  func passedOn(byCancel: Bool) throws {
    // Two wait, and one ends just as an element arrives. In any order, one of them has it.
    for round in 0..<300 {
      let queue = BlockingQueue<Int>()
      let limit = byCancel ? Deadline.distantFuture : .after(.microseconds(round % 60 * 10))
      let first = try Blocked { ending { () throws(WaitError) in try queue.take(until: limit) } }
      if byCancel { #expect(until { queue.waitingCounts.takers == 1 }) }
      let second = try Blocked { ending { () throws(WaitError) in try queue.take(until: .after(generous)) } }
      if byCancel { first.cancel() }
      try queue.put(1)
      if case .value = try first.result() { try queue.put(2) }
      guard case .value = try second.result() else {
        Issue.record("the second one got nothing")
        return
      }
      #expect(queue.isEmpty)
    }
  }

  @Test("P25 takes that timed out leave nothing in the line", arguments: [0, 1, 100])
  func noNodesLeft(capacity: Int) throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    try onThreads(2) { _ in
      for _ in 0..<500 {
        let result = ending { () throws(WaitError) in try queue.take(until: .after(.microseconds(1))) }
        if result != .error(.timedOut) { Issue.record("\(result)") }
      }
    }
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P35 cancelling a thread ends its wait, and an element that it was putting is returned", arguments: [0, 1])
  func cancelThread(capacity: Int) throws {
    let census = Census()
    let queue = try BlockingQueue<Parcel>(capacity: capacity)
    let empty = try BlockingQueue<Int>(capacity: capacity)
    if capacity == 1 { expectAccepted(queue.put(Parcel(0, census))) }
    let putter = try Blocked { () -> Ending in
      switch queue.put(Parcel(1, census)) {
      case .accepted: .done
      case .refused(let parcel, let error): parcel.number == 1 ? .error(error.code) : .done
      }
    }
    let taker = try Blocked { ending { () throws(WaitError) in try empty.take() } }
    #expect(until { queue.waitingCounts.putters == 1 && empty.waitingCounts.takers == 1 })
    putter.cancel()
    taker.cancel()
    #expect(try putter.result() == .error(.cancelled))
    #expect(try taker.result() == .error(.cancelled))
    #expect(census.alive == capacity)
    #expect(queue.waitingCounts == (0, 0) && empty.waitingCounts == (0, 0))
  }

  @Test("P35 a thread cancelled in advance still takes an available element, and does not wait")
  func cancelledBefore() throws {
    let queue = BlockingQueue<Int>()
    try queue.put(1)
    let results = try Blocked { () -> [Ending] in
      ThreadRecord.current.cancel()
      return (0..<2).map { _ in ending { () throws(WaitError) in try queue.take() } }
    }
    #expect(try results.result() == [.value(1), .error(.cancelled)])
  }

  @Test("A blocking call refuses to block a thread of Swift's tasks, but works if it need not wait", arguments: [0, 1])
  func cooperativeThread(capacity: Int) throws {
    // A test runs in a task.
    let queue = try BlockingQueue<Int>(capacity: capacity)
    #expect(ending { () throws(WaitError) in try queue.take() } == .error(.onCooperativeThread))
    if capacity == 1 { try queue.put(1) }
    #expect(ending(of: { () throws(WaitError) in try queue.put(2) }) == .error(.onCooperativeThread))
    #expect(ending(of: { () throws(WaitError) in try queue.put(2, until: .distantPast) }) == .error(.timedOut))
    if capacity == 1 { #expect(try queue.take() == 1) }
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P21 waiting putters proceed in the order of their arrival", arguments: [0, 1])
  func orderOfPutters(capacity: Int) throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    if capacity == 1 { try queue.put(0) }
    var putters: [Blocked<Ending>] = []
    for number in 1...5 {
      putters.append(try Blocked { ending(of: { () throws(WaitError) in try queue.put(number) }) })
      #expect(until { queue.waitingCounts.putters == number })
    }
    if capacity == 1 { #expect(try queue.take() == 0) }
    for (number, putter) in putters.enumerated() {
      let taken = try Blocked { ending { () throws(WaitError) in try queue.take() } }
      #expect(try taken.result() == .value(number + 1))
      #expect(try putter.result() == .done)
    }
  }

  @Test("An error has the operation, the duration of the wait, and advice")
  func errorText() throws {
    let queue = try BlockingQueue<Int>(name: "jobs", capacity: 1)
    let earliest = Deadline.now
    let taker = try Blocked { () -> WaitError? in
      do throws(WaitError) {
        _ = try queue.take(until: .after(generous))
        return nil
      } catch {
        return error
      }
    }
    #expect(until { queue.waitingCounts.takers == 1 })
    queue.close()
    let error = try #require(try taker.result())
    #expect(error.operation == "take from \"jobs\"")
    #expect(error.waited > .zero && error.waited <= .now - earliest)
    do throws(WaitError) {
      try queue.put(1)
      Issue.record("put into a closed queue")
    } catch {
      #expect("\(error)".hasPrefix("put into \"jobs\": it was closed"))
    }
  }

  @Test("A queue with a waiter uses no processor time")
  func idle() throws {
    let queue = BlockingQueue<Int>()
    let used = try Blocked { () -> Duration in
      // The least of three: a pause of the machine may count for a thread.
      (0..<3).reduce(.seconds(60)) { least, _ in
        let before = threadTime()
        _ = ending { () throws(WaitError) in try queue.take(until: .after(.milliseconds(50))) }
        return min(least, threadTime() - before)
      }
    }
    // The spin and two system calls. A polling thread would have used all of it.
    #expect(try used.result() < .milliseconds(25))
  }
}

/// The processor time that the calling thread has used.
private func threadTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
