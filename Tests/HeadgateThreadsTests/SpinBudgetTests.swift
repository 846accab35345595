#if canImport(Glibc)
import Glibc
import Testing

@testable import HeadgateThreads

@Suite struct SpinBudgetTests {
  @Test("On one processor nobody looks before going to sleep, whatever it waits for")
  func alone() async {
    // In a process of its own, where nobody has counted the processors yet.
    await #expect(processExitsWith: .success) {
      var set = cpu_set_t()
      guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { exit(2) }
      let all = set.__bits.0
      set = cpu_set_t()
      set.__bits.0 = all & (~all + 1)
      guard all != 0, sched_setaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { exit(3) }
      let looks = [
        SpinBudget.lock, SpinBudget.threadExit, SpinBudget.sweepGap, SpinBudget.loop, SpinBudget.queue,
        SpinBudget.stream,
      ]
      let times = [SpinBudget.linger, SpinBudget.gather, SpinBudget.task]
      exit(looks.allSatisfy { $0 == 0 } && times.allSatisfy { $0 == 0 } ? 0 : 1)
    }
  }
}
#endif
