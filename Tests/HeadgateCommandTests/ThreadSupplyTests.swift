import HeadgateThreads
import Testing

@testable import HeadgateCommand

@Suite struct ThreadSupplyTests {
  @Test func `Threads that are refused are an error, and those that were given end`() throws {
    let given = Locked<[WorkerThread]>([])
    let problem = #expect(throws: FetchProblem.self) {
      try ThreadSupply.check(5) { body throws(ThreadError) in
        guard given.withLock({ $0.count }) < 2 else { throw ThreadError(.outOfResources, errno: 11, name: "test") }
        let thread = try WorkerThread(name: "test-supply", body)
        given.withLock { $0.append(thread) }
        return thread
      }
    }
    #expect(problem?.status == .file)
    #expect(problem?.description.contains("2 threads beside its first one, and it needs 5") == true)
    for thread in given.withLock({ $0 }) { thread.join() }
  }

  @Test func `Where there are enough nothing is said`() throws { try ThreadSupply.check() }
}
