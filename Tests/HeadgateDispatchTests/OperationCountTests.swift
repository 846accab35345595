import Dispatch
import HeadgateThreads
import Synchronization
import Testing

@testable import HeadgateDispatch

/// The remaining operations of a closing dispatcher, counted by many threads.
@Suite struct OperationCountTests {
  @Test("with a count of zero the transport closes at once, and the end waits for it")
  func nothing() {
    let (count, seen) = (OperationCount(), Seen())
    count.whenLast { seen.add("transport") }
    count.ended.whenSet { _ in seen.add("ended") }
    count.close()
    #expect(seen.all == ["transport"])
    count.close()
    #expect(seen.all == ["transport"])
    count.transportEnded()
    #expect(seen.all == ["transport", "ended"])
  }

  @Test("the transport stays open until the last operation has ended")
  func last() {
    let (count, seen) = (OperationCount(), Seen())
    count.whenLast {
      seen.add("transport")
      count.transportEnded()
    }
    count.ended.whenSet { _ in seen.add("ended") }
    count.add()
    count.add()
    count.close()
    #expect(count.hasOthers(beside: 1))
    count.remove()
    #expect(seen.all.isEmpty && !count.hasOthers(beside: 1))
    count.remove()
    #expect(seen.all == ["transport", "ended"])
  }

  @Test("the count of a gate's owner waits for its transport's end, whatever its operations do")
  func owner() {
    let (count, seen) = (OperationCount(), Seen())
    count.ended.whenSet { _ in seen.add("ended") }
    count.add()
    count.remove()
    count.add()
    count.transportEnded()
    #expect(seen.all.isEmpty)
    count.remove()
    #expect(seen.all == ["ended"])
  }

  @Test("threads that come and go during the close: the end comes once, and not before the last")
  func threads() {
    for _ in 0..<200 {
      let (count, seen) = (OperationCount(), Seen())
      let inside = Atomic<Int>(0)
      let isEarly = Atomic<Bool>(false)
      count.whenLast {
        if inside.load(ordering: .sequentiallyConsistent) > 0 { isEarly.store(true, ordering: .relaxed) }
        seen.add("transport")
        count.transportEnded()
      }
      count.ended.whenSet { _ in seen.add("ended") }
      DispatchQueue.concurrentPerform(iterations: 5) { thread in
        for turn in 0..<40 {
          if thread == 4, turn == 20 { count.close() }
          count.add()
          // As an operation that came too late: it is counted, checks, and ends.
          guard !count.isClosed else { return count.remove() }
          inside.add(1, ordering: .sequentiallyConsistent)
          inside.subtract(1, ordering: .sequentiallyConsistent)
          count.remove()
        }
      }
      #expect(seen.all == ["transport", "ended"])
      let wasEarly = isEarly.load(ordering: .relaxed)
      #expect(!wasEarly)
    }
  }

  private final class Seen: Sendable {
    private let words = Locked<[String]>([])
    var all: [String] { words.withLock { $0 } }
    func add(_ word: String) { words.withLock { $0.append(word) } }
  }
}
