import Dispatch
import HeadgateThreads
import Synchronization
import Testing

@testable import HeadgateDispatch

/// What a dispatcher owes, counted by many threads on pages of their own.
@Suite struct LedgerTests {
  @Test("a ledger with nothing owed closes the transport at once, and is settled when that has closed")
  func nothing() {
    let (ledger, seen) = (Ledger(), Seen())
    ledger.countsAlone { seen.add("transport") }
    ledger.settled.whenDone { seen.add("settled") }
    ledger.close()
    #expect(seen.all == ["transport"])
    ledger.close()
    #expect(seen.all == ["transport"])
    ledger.transportEnded()
    #expect(seen.all == ["transport", "settled"])
  }

  @Test("what is owed keeps the transport open, whichever page its end is counted on")
  func owed() {
    let (ledger, seen) = (Ledger(), Seen())
    ledger.countsAlone {
      seen.add("transport")
      ledger.transportEnded()
    }
    ledger.settled.whenDone { seen.add("settled") }
    ledger.enter(1)
    ledger.enter(2)
    ledger.close()
    #expect(ledger.hasOthers(beside: 1))
    ledger.leave(5)
    #expect(seen.all.isEmpty && !ledger.hasOthers(beside: 1))
    ledger.leave(1)
    #expect(seen.all == ["transport", "settled"])
  }

  @Test("one that does not count alone waits for its transport's end, whatever its operations do")
  func owner() {
    let (ledger, seen) = (Ledger(), Seen())
    ledger.settled.whenDone { seen.add("settled") }
    ledger.enter(0)
    ledger.leave(0)
    ledger.enter(3)
    ledger.transportEnded()
    #expect(seen.all.isEmpty)
    ledger.leave(3)
    #expect(seen.all == ["settled"])
  }

  @Test("threads that come and go while it closes: the end comes once, and not before the last")
  func threads() {
    for _ in 0..<200 {
      let (ledger, seen) = (Ledger(), Seen())
      let inside = Atomic<Int>(0)
      let isEarly = Atomic<Bool>(false)
      ledger.countsAlone {
        if inside.load(ordering: .sequentiallyConsistent) > 0 { isEarly.store(true, ordering: .relaxed) }
        seen.add("transport")
        ledger.transportEnded()
      }
      ledger.settled.whenDone { seen.add("settled") }
      DispatchQueue.concurrentPerform(iterations: 5) { thread in
        for turn in 0..<40 {
          if thread == 4, turn == 20 { ledger.close() }
          ledger.enter(thread)
          // As an operation does that came too late: it is owed, looks, and ends.
          guard !ledger.isClosed else { return ledger.leave(thread) }
          inside.add(1, ordering: .sequentiallyConsistent)
          inside.subtract(1, ordering: .sequentiallyConsistent)
          ledger.leave((thread + turn) % Ledger.pages)
        }
      }
      #expect(seen.all == ["transport", "settled"])
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
