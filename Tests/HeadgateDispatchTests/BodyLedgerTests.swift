import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// The ledger of bodies in memory, under random events.
@Suite struct BodyLedgerTests {
  @Test(
    "the oldest body of each sort always proceeds, memory keeps its bound, and every body ends",
    arguments: 0..<40)
  func random(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let limit = [0, 1, 300_000, 4_000_000][seed % 4]
    var ledger = BodyLedger<Int>(limit: limit)
    var (going, paused): ([Int], [Int]) = ([], [])
    var held: [Int: Int] = [:]
    var (long, kept, unbounded): (Set<Int>, Set<Int>, Set<Int>) = ([], [], [])
    var toCome = 200
    while toCome > 0 || !held.isEmpty {
      if toCome > 0, held.count < 30, Int.random(in: 0..<3, using: &random) == 0 {
        let number = 200 - toCome
        toCome -= 1
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: long.insert(number)
        case 2, 3: kept.insert(number)
        default: break
        }
        going.append(number)
        grow(number)
      } else if let number = going.randomElement(using: &random) {
        if Int.random(in: 0..<6, using: &random) == 0 {
          end(number)
        } else {
          grow(number)
        }
      } else if !held.isEmpty {
        Issue.record("seed \(seed): nothing proceeds and \(held.count) bodies have not ended")
        return
      }
      // One turns out to be a stream.
      if let number = held.keys.randomElement(using: &random), Int.random(in: 0..<20, using: &random) == 0 {
        if !kept.contains(number) { long.insert(number) }
        resume(ledger.becameLong(number))
      }
      // One is cancelled while it is paused.
      if let number = paused.randomElement(using: &random), Int.random(in: 0..<20, using: &random) == 0 { end(number) }
      #expect(ledger.bytes == held.values.reduce(0, +), "seed \(seed)")
      for number in paused { #expect(ledger.isPaused(number), "seed \(seed)") }
      for number in going { #expect(!ledger.isPaused(number), "seed \(seed)") }
      // Each of the others pauses at its first piece above the limit.
      let collected = held.keys.filter { !kept.contains($0) }
      let oldest = [collected, collected.filter { !long.contains($0) }, held.keys.filter(kept.contains)].map {
        $0.min()
      }
      let privileged = Set(oldest.compactMap { $0 })
      for number in privileged { #expect(!ledger.isPaused(number), "seed \(seed)") }
      // One that became long may have grown before.
      unbounded.formUnion(privileged)
      let theirs = unbounded.reduce(0) { $0 + (held[$1] ?? 0) }
      #expect(ledger.bytes <= limit + theirs + held.count * BodyLedger<Int>.piece, "seed \(seed)")
    }
    #expect(ledger.bytes == 0)

    func grow(_ number: Int) {
      let size = held[number, default: 0] + Int.random(in: 1...BodyLedger<Int>.piece, using: &random)
      held[number] = size
      guard ledger.note(size, of: number, as: sort(of: number)) else { return }
      going.removeAll { $0 == number }
      paused.append(number)
    }

    func sort(of number: Int) -> BodyLedger<Int>.Sort {
      kept.contains(number) ? .kept : long.contains(number) ? .long : .short
    }

    func end(_ number: Int) {
      held[number] = nil
      going.removeAll { $0 == number }
      paused.removeAll { $0 == number }
      resume(ledger.leave(number))
    }

    func resume(_ owners: [Int]) {
      for resumed in owners {
        #expect(paused.contains(resumed), "seed \(seed): \(resumed) was not paused")
        paused.removeAll { $0 == resumed }
        going.append(resumed)
      }
    }
  }

  @Test("an endless long body does not keep a short one from its end")
  func long() {
    var ledger = BodyLedger<Int>(limit: 100)
    let (endless, first, second) = (0, 1, 2)
    #expect(!ledger.note(200, of: endless, as: .long) && !ledger.note(1, of: first) && ledger.note(1, of: second))
    #expect(ledger.leave(first) == [second] && !ledger.isPaused(second) && !ledger.isPaused(endless))
    #expect(BodyLedger<Int>(limit: .min).limit == 0)
    // It turns out to be long only later.
    ledger = BodyLedger(limit: 100)
    #expect(!ledger.note(200, of: endless) && ledger.note(1, of: first) && ledger.note(1, of: second))
    #expect(ledger.becameLong(endless) == [first] && ledger.isPaused(second) && ledger.becameLong(3) == [])
  }

  @Test("bodies to be collected do not wait for those that are kept, of which the oldest proceeds")
  func kept() {
    var ledger = BodyLedger<Int>(limit: 100)
    #expect(!ledger.note(200, of: 0, as: .kept) && ledger.note(200, of: 1, as: .kept))
    #expect(!ledger.note(200, of: 2) && ledger.note(200, of: 3))
    #expect(ledger.becameLong(0) == [] && ledger.isPaused(1))
    #expect(ledger.leave(2) == [3] && ledger.isPaused(1))
    #expect(ledger.leave(0) == [1])
  }

  @Test("as many bodies proceed as there is room for, the oldest first, and the first one in any case")
  func room() {
    let piece = BodyLedger<Int>.piece
    var ledger = BodyLedger<Int>(limit: 3 * piece)
    func pauses(_ number: Int, after pieces: Int) -> Bool { ledger.note(pieces * piece, of: number) }
    func leave(_ number: Int) -> [Int] { ledger.leave(number) }
    let numbers = Array(0..<6)
    for number in numbers { #expect(!pauses(number, after: 0)) }
    #expect(!pauses(numbers[0], after: 4))
    for number in numbers.dropFirst() { #expect(pauses(number, after: 0)) }
    #expect(leave(numbers[0]) == Array(numbers[1...3]))
    #expect(!pauses(numbers[1], after: 9))
    #expect(pauses(numbers[2], after: 0))
    #expect(leave(numbers[3]) == [])
    #expect(leave(numbers[1]) == [numbers[2], numbers[4], numbers[5]])
    #expect(leave(numbers[1]) == [])
  }
}
