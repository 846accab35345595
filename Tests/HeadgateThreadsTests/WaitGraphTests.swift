import Testing

@testable import HeadgateThreads

/// The rules of the graph of waits, without threads that wait.
@Suite struct WaitGraphTests {
  private final class Target: WaitTarget {
    let performing = Locked<ThreadRecord?>(nil)
    let number: Int
    var performer: ThreadRecord.ID? { performing.withLock { $0?.id } }
    var waitName: String { "target \(number)" }

    init(_ number: Int) { self.number = number }
  }

  /// Whether `thread` would block forever if it waited for `target`: by all paths, of which a thread has at most one.
  private func isStuck(_ thread: Int, on target: Int, _ waits: [Int: Int], _ performers: [Int?]) -> Bool {
    var (reached, steps) = (performers[target], 0)
    while let one = reached, steps <= waits.count {
      if one == thread { return true }
      reached = waits[one].flatMap { performers[$0] }
      steps += 1
    }
    return false
  }

  @Test(
    "Exactly the waits that close a cycle are refused, for all threads and takeovers",
    arguments: 0..<20)
  func random(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let threads = (0..<6).map { ThreadRecord(name: "\($0)") }
    let targets = (0..<8).map(Target.init)
    var performers: [Int?] = Array(repeating: nil, count: targets.count)
    var waits: [Int: Int] = [:]
    var graph = WaitGraph()
    var refusals = 0
    for _ in 0..<2000 {
      let thread = Int.random(in: 0..<threads.count, using: &random)
      let target = Int.random(in: 0..<targets.count, using: &random)
      if waits[thread] != nil {
        // A waiting thread does nothing else. Its wait is over now, or it gave up.
        #expect(graph.end(of: threads[thread].id) != nil)
        waits[thread] = nil
      } else if Bool.random(using: &random) {
        // It takes over a job, or has done so.
        performers[target] =
          performers[target] == nil ? thread : performers[target] == thread ? nil : performers[target]
        targets[target].performing.withLock { $0 = performers[target].map { threads[$0] } }
      } else {
        let wait = WaitGraph.Wait(thread: threads[thread], targets: [targets[target]], since: .now, counts: true)
        let cycle = graph.begin(wait)
        #expect((cycle != nil) == isStuck(thread, on: target, waits, performers))
        if let cycle {
          refusals += 1
          #expect(cycle.first === targets[target] && cycle.last?.performer == threads[thread].id)
        } else {
          waits[thread] = target
        }
      }
      #expect(graph.all.count == waits.count && graph.cycles.isEmpty)
    }
    #expect(refusals > 50)
  }

  @Test("A wait for any of several is refused if every path leads back, and only then", arguments: 0..<20)
  func anyOfSeveral(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let threads = (0..<5).map { ThreadRecord(name: "\($0)") }
    // The end of each thread, and the jobs that no thread has taken over.
    let ends = (0...5).map(Target.init)
    for (end, thread) in zip(ends, threads) { end.performing.withLock { $0 = thread } }
    var graph = WaitGraph()
    var waits: [Int: [Int]] = [:]
    var (refusals, noted) = (0, 0)
    for _ in 0..<2000 {
      let thread = Int.random(in: 0..<threads.count, using: &random)
      if waits.removeValue(forKey: thread) != nil {
        #expect(graph.end(of: threads[thread].id) != nil)
        continue
      }
      let chosen = ends.indices.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      guard !chosen.isEmpty else { continue }
      // The threads that can continue: those that don't wait, and those that wait for one of these, transitively.
      var free = Set(ends.indices.filter { $0 != thread && waits[$0] == nil })
      let all = waits.merging([thread: chosen]) { old, _ in old }
      while let next = all.first(where: { !free.contains($0.key) && !free.isDisjoint(with: $0.value) })?.key {
        free.insert(next)
      }
      let cycle = graph.begin(
        WaitGraph.Wait(
          thread: threads[thread], targets: chosen.map { ends[$0] }, since: .now, counts: true))
      #expect((cycle == nil) == free.contains(thread))
      if let cycle {
        refusals += 1
        #expect(cycle.last?.performer == threads[thread].id)
      } else {
        noted += 1
        waits[thread] = chosen
      }
    }
    #expect(refusals > 50 && noted > 50)
  }

  @Test("A wait that does not count is noted and refuses none; its cycle is listed")
  func polling() {
    let threads = (0..<2).map { ThreadRecord(name: "\($0)") }
    let ends = (0..<2).map(Target.init)
    for (end, thread) in zip(ends, threads) { end.performing.withLock { $0 = thread } }
    var graph = WaitGraph()
    func wait(_ thread: Int, for end: Int, counts: Bool) -> WaitGraph.Wait {
      WaitGraph.Wait(thread: threads[thread], targets: [ends[end]], since: .now, counts: counts)
    }
    #expect(graph.begin(wait(0, for: 1, counts: false)) == nil)
    #expect(graph.cycles.isEmpty)
    #expect(graph.begin(wait(1, for: 0, counts: true)) == nil)
    #expect(graph.cycles.map(\.count) == [2])
    _ = graph.end(of: threads[0].id)
    #expect(graph.begin(wait(0, for: 1, counts: true))?.count == 2)
  }

  @Test("A wait of a cancelled thread ends by itself: it closes no cycle, and is not part of one")
  func cancelled() {
    let threads = (0..<2).map { ThreadRecord(name: "\($0)") }
    let ends = (0..<2).map(Target.init)
    for (end, thread) in zip(ends, threads) { end.performing.withLock { $0 = thread } }
    var graph = WaitGraph()
    func wait(_ thread: Int, for end: Int) -> WaitGraph.Wait {
      WaitGraph.Wait(thread: threads[thread], targets: [ends[end]], since: .now, counts: true)
    }
    #expect(graph.begin(wait(0, for: 1)) == nil)
    threads[0].cancel()
    #expect(graph.begin(wait(1, for: 0)) == nil)
    _ = graph.end(of: threads[0].id)
    #expect(graph.begin(wait(0, for: 1)) == nil)
  }
}
