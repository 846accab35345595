import HeadgateDispatch
import Testing

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
}
