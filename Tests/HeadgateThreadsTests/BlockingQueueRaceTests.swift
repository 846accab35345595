import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Queues whose memory grows and shrinks while others use them, and waits that signals disturb.
@Suite(.timeLimit(.minutes(2))) struct BlockingQueueRaceTests {
  @Test("P12 a storm of signals ends no wait at a queue early, and loses no wake-up", arguments: [0, 1, 100])
  func signals(capacity: Int) throws {
    SignalStorm.install()
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let taker = Locked<pthread_t?>(nil)
    let isTaking = Latch()
    let timedOut = Latch()
    let isOver = Latch()
    let results = Record<Ending>()
    let wasEarly = Record<Bool>()
    let thread = try WorkerThread(name: "test-taker") {
      let here = SignalStorm.expose()
      taker.withLock { $0 = here }
      isTaking.countDown()
      let deadline = Deadline.after(.milliseconds(30))
      results.add(ending { () throws(WaitError) in try queue.take(until: deadline) })
      wasEarly.add(Deadline.now < deadline)
      timedOut.countDown()
      results.add(ending { () throws(WaitError) in try queue.take() })
      // The thread must exist as long as signals are sent to it.
      _ = isOver.wait()
    }
    #expect(isTaking.wait())
    let target = try #require(taker.withLock { $0 })
    let limit = Deadline.after(generous)
    while results.events.isEmpty, .now < limit { SignalStorm.strike(target) }
    #expect(timedOut.wait())
    #expect(until { queue.waitingCounts.takers == 1 })
    for _ in 0..<1000 { SignalStorm.strike(target) }
    try inThread { try queue.put(5, until: .after(generous)) as Void }
    #expect(until { results.events.count == 2 })
    isOver.countDown()
    try inThread { thread.join() }
    #expect(results.events == [.error(.timedOut), .value(5)])
    #expect(wasEarly.events == [false])
  }

  @Test(
    "P17 a close during the very first put: the element is in the queue, or returned to its putter",
    arguments: Kind.allCases)
  func closedAtBirth(kind: Kind) throws {
    let census = Census()
    var accepted = 0
    let rounds = 3000
    let queues = try (0..<rounds).map { _ in try kind.make(Parcel.self) }
    let results = Record<(Int, Bool)>()
    try onThreads(2) { number in
      for (round, queue) in queues.enumerated() {
        if number == 0 { queue.close() } else { results.add((round, queue.tryPut(Parcel(round, census)).isAccepted)) }
      }
    }
    for (round, isAccepted) in results.events {
      let end = ending { () throws(WaitError) in try queues[round].take(until: .distantPast).number }
      #expect(end == (isAccepted ? .value(round) : .error(.closed)))
      accepted += isAccepted ? 1 : 0
    }
    #expect(census.alive == 0)
    print("first puts that came before the close: \(accepted) of \(rounds)")
  }

  @Test(
    "P26 a woken thread may end and release the queue while the other is still returning",
    arguments: [0, 1, 100, Int.max])
  func goneAtOnce(capacity: Int) throws {
    let census = Census()
    let rounds = 1000
    let ended = Latch(2 * rounds)
    for round in 0..<rounds {
      let queue = try BlockingQueue<Parcel>(capacity: capacity)
      // Each holds the queue itself, and the last one to return releases it.
      for isTaker in [true, false] {
        _ = try WorkerThread(name: "test-guest") {
          if isTaker {
            let number = try? queue.take().number
            #expect(number == round)
          } else {
            expectAccepted(queue.put(Parcel(round, census), until: .after(generous)))
          }
          ended.countDown()
        }
      }
    }
    #expect(ended.wait())
    #expect(until { census.alive == 0 })
  }
}
