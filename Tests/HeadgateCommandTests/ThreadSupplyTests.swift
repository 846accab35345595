import Foundation
import HeadgateThreads
import Testing

@testable import HeadgateCommand

@Suite struct ThreadSupplyTests {
  @Test func `Refused threads are an error, and the threads that were started end`() throws {
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
    #expect(problem?.description.contains("only 2 additional threads, and it needs 5") == true)
    for thread in given.withLock({ $0 }) { thread.join() }
  }

  #if os(Linux)
  @Test func `Processors that the process may not use need no threads`() throws {
    // Glibc's module lacks both.
    typealias Call = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32
    func call(_ name: String) throws -> Call { unsafeBitCast(try #require(dlsym(nil, name)), to: Call.self) }
    let (get, set) = (try call("sched_getaffinity"), try call("sched_setaffinity"))
    var all = [UInt64](repeating: 0, count: 128)
    try #require(get(0, 1024, &all) == 0)
    // For this thread alone, and undone before it does anything else.
    defer { #expect(set(0, 1024, &all) == 0) }
    let index = try #require(all.firstIndex { $0 != 0 })
    var one = [UInt64](repeating: 0, count: 128)
    one[index] = 1 << UInt64(all[index].trailingZeroBitCount)
    try #require(set(0, 1024, &one) == 0)
    #expect(ThreadSupply.needed == 7)
  }
  #endif

  @Test func `With enough threads there is no message`() throws { try ThreadSupply.check() }
}
