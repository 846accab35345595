import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateGate
@testable import HeadgateRedis

/// What a program claims, and what it keeps of it, without time or I/O.
@Suite struct SessionLedgerTests {
  private let end = ContinuousClock.now
  private var before: ContinuousClock.Instant { end - .nanoseconds(1) }

  private func ledger(_ names: String...) -> (SessionLedger, [UInt64]) {
    var ledger = SessionLedger()
    let numbers = names.map { ledger.grant($0).0 }
    return (ledger, numbers)
  }

  @Test("All that is held is claimed; what Redis does not confirm is forgotten, and its release is not told")
  func claims() {
    var (ledger, numbers) = ledger("e 1 g 2|", "e 1|")
    #expect(ledger.claims() == ["e": 2, "g": 2])
    let lost = ledger.keepOnly(["e": 0, "g": 0], believedUntil: nil, now: end)
    #expect(lost == 2)
    #expect(ledger.held.isEmpty)
    let isCounted = ledger.release(numbers[0])
    #expect(!isCounted)
    #expect(!ledger.hasNews)
  }

  @Test("A settlement that was not told is told in the next session")
  func settlements() {
    var (ledger, _) = ledger("e 1|b:9")
    ledger.settle("e 1|b:9", "5", "b", 9, 2)
    _ = ledger.claims()
    #expect(ledger.takeNews() == ["s", "e 1|b:9", "5", "b", "9", "2"])
  }

  @Test("After the end of the lease, what Redis only believed is not kept, and what its own record says is")
  func lateConfirmation() {
    var (ledger, _) = ledger("e 1|", "e 1|")
    let claims = ledger.claims()
    let inTime = ledger.keepOnly(claims, believedUntil: end, now: before)
    #expect(inTime == 0)
    let recorded = ledger.keepOnly(claims, believedUntil: nil, now: end)
    #expect(recorded == 0)
    let late = ledger.keepOnly(claims, believedUntil: end, now: end)
    #expect(late == 2)
    #expect(ledger.claims().isEmpty)
  }

  @Test("What is released between the claim and its confirmation reduces what is kept, and is told")
  func releasedBetween() {
    var (ledger, numbers) = ledger("e 1|", "e 1|", "e 1|")
    #expect(ledger.claims() == ["e": 3])
    let isCounted = ledger.release(numbers[0])
    #expect(isCounted)
    // Redis counts two, and one when it is told of the release.
    let lost = ledger.keepOnly(["e": 2], believedUntil: end, now: before)
    #expect(lost == 1)
    #expect(ledger.held.count == 1)
    #expect(ledger.takeNews() == ["r", "e 1|", "1"])
  }

  @Test("All that was released and confirmed leaves the rest")
  func allConfirmed() {
    var (ledger, numbers) = ledger("e 2 g 1|", "e 1|")
    let claims = ledger.claims()
    _ = ledger.release(numbers[0])
    let lost = ledger.keepOnly(claims, believedUntil: end, now: before)
    #expect(lost == 0)
    #expect(ledger.held == [numbers[1]: "e 1|"])
  }

  @Test("A step tells of a bounded number of things, whatever was used before, and the next ones of the rest")
  func bounded() throws {
    let link = RedisLink(try RedisURL("redis://localhost"), namespace: "t", lease: .seconds(5))
    var ledger = SessionLedger()
    var seen: Set<String> = []
    for host in 0..<5000 {
      let demand = SharedDemand(for: try EndPoint(host: "h\(host)", port: 80))
      let wait = RedisWait(demand, link) { _ in }
      ledger.add(wait)
      if host >= 100 { ledger.withdraw(wait) }
      if host % 10 == 0 { seen.formUnion(declared(ledger.takeNews())) }
    }
    _ = ledger.claims()
    var steps = 0
    var again: Set<String> = []
    while ledger.hasNews {
      let words = ledger.takeNews()
      #expect(words.count <= 16 * 3 * 6)
      again.formUnion(declared(words))
      steps += 1
    }
    // Only what waits is declared to a new session.
    #expect(again == Set((0..<100).map { "h\($0):80" }))
    #expect(steps >= 7)
    #expect(seen.count > 100)
  }

  @Test("The rules of end-points that the program has left are taken back")
  func takenBack() throws {
    let link = RedisLink(try RedisURL("redis://localhost"), namespace: "t", lease: .seconds(5))
    var ledger = SessionLedger()
    var declared: Set<String> = []
    for host in 0..<5000 {
      let wait = RedisWait(SharedDemand(for: try EndPoint(host: "h\(host)", port: 80)), link) { _ in }
      ledger.add(wait)
      ledger.withdraw(wait)
      while ledger.hasNews {
        let words = ledger.takeNews()
        declared.formUnion(self.declared(words))
        for (place, word) in words.enumerated() where word == "u" { declared.remove(words[place + 1]) }
      }
    }
    #expect(declared.count <= 2 * SessionLedger.mostRules + 1)
  }

  private func declared(_ words: [String]) -> [String] {
    words.indices.filter { words[$0] == "d" }.map { words[$0 + 1] }
  }

  @Test("A pause is told to each session until it is over")
  func pauses() throws {
    var ledger = SessionLedger()
    let endPoint = try EndPoint(host: "h", port: 80)
    ledger.pause(
      try #require(SharedPause(at: endPoint, left: .seconds(60), .refused(status: 429))), until: .after(.seconds(60)))
    for _ in 0..<2 {
      let words = ledger.takeNews()
      #expect(words.prefix(2) == ["p", "h:80"] && words.last == "429")
      #expect(!ledger.hasNews)
      _ = ledger.claims()
    }
    ledger.pause(try #require(SharedPause(at: endPoint, left: .seconds(60), .unreachable)), until: .after(.seconds(-1)))
    #expect(ledger.takeNews() == [])
  }
}
