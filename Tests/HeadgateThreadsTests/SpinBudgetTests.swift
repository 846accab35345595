#if canImport(Glibc)
import Glibc
import CHeadgate
import Testing

@testable import HeadgateThreads

@Suite struct SpinBudgetTests {
  @Test("On one processor no wait spins before it sleeps")
  func alone() async {
    // In a separate process, where the processors have not been counted yet.
    await #expect(processExitsWith: .success) {
      guard keepOneProcessor() else { exit(2) }
      let looks = [
        SpinBudget.lock, SpinBudget.threadExit, SpinBudget.loop, SpinBudget.queue,
        SpinBudget.stream,
      ]
      let times = [SpinBudget.linger, SpinBudget.gather, SpinBudget.task]
      exit(looks.allSatisfy { $0 == 0 } && times.allSatisfy { $0 == 0 } ? 0 : 1)
    }
  }
}

extension SpinBudgetTests {
  @Test(
    "A share of the processors' time counts as the processors that it is worth",
    arguments: [
      ("50000 100000\n", 1), ("100000 100000\n", 1), ("100001 100000\n", 2), ("400000 100000\n", 4), ("1 1", 1),
      ("max 100000\n", Int32.max), ("", .max), ("0 100000", .max), ("-1 100000", .max), ("100000 0", .max),
      ("9223372036854775807 1", .max),
    ] as [(String, Int32)])
  func shares(limit: String, worth: Int32) { #expect(headgate_processors_worth(limit) == worth) }
}

/// Restricts the calling thread to a single processor. Swift's module of glibc lacks these calls.
private func keepOneProcessor() -> Bool {
  typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32
  func call(_ name: String) -> Affinity? { dlsym(nil, name).map { unsafeBitCast($0, to: Affinity.self) } }
  guard let get = call("sched_getaffinity"), let set = call("sched_setaffinity") else { return false }
  var words = [UInt](repeating: 0, count: 16)
  let size = words.count * MemoryLayout<UInt>.size
  guard get(0, size, &words) == 0, let first = words.firstIndex(where: { $0 != 0 }) else { return false }
  let lowest = words[first] & (~words[first] + 1)
  words = words.indices.map { $0 == first ? lowest : 0 }
  return set(0, size, &words) == 0
}
#endif
