import Testing

@testable import HeadgateThreads

@Suite struct JobEndsTests {
  private func jobs(_ pool: ThreadPool, _ bodies: [@Sendable () throws -> Void]) throws -> [PoolJob] {
    try bodies.map { try pool.submit($0).job }
  }

  @Test("The ends come once each and in order, from before the registration and after it, of bodies that ran and not")
  func order() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let jobs = try jobs(pool, [{ throw Oops() }, {}, {}])
    jobs[1].cancel()
    let ends = JobEnds(jobs)
    #expect(ends.take() == [1])
    #expect(ends.take().isEmpty)
    plug.open()
    try inThread { for job in jobs { job.blockUntilItEnds() } }
    try pool.finish()
    #expect(ends.take() == [0, 2])
    #expect(jobs.map(\.state) == [.failed, .dropped, .succeeded])
  }

  @Test("A wait ends with the next end, however many there were, without another registration with the other jobs")
  func waits() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let jobs = try jobs(pool, Array(repeating: {}, count: 3))
    let ends = JobEnds(jobs)
    for place in [2, 0, 1] {
      let waiter = Waiter.ofThread()
      #expect(ends.add(waiter))
      jobs[place].cancel()
      #expect(waiter.outcome == .woken)
      #expect(!ends.add(Waiter.ofThread()), "the end has not been taken yet")
      #expect(ends.take() == [place])
    }
    plug.open()
    try pool.finish()
  }

  @Test("A waiter that has given up does not get the next end, which the next wait finds")
  func givesUp() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let jobs = try jobs(pool, [{}])
    let ends = JobEnds(jobs)
    let waiter = Waiter.ofThread()
    #expect(ends.add(waiter))
    ends.remove(waiter)
    jobs[0].cancel()
    #expect(waiter.outcome == .pending)
    #expect(!ends.add(Waiter.ofThread()))
    plug.open()
    try pool.finish()
  }
}
