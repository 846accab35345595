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

  @Test("Before the end of the lease all is claimed, at its end nothing")
  func claims() {
    var (ledger, numbers) = ledger("e 1 g 2|", "e 1|")
    let valid = ledger.claims(validUntil: end, now: before)
    #expect(valid.claims == ["e": 2, "g": 2])
    #expect(valid.lost == 0)
    let ended = ledger.claims(validUntil: end, now: end)
    #expect(ended.claims.isEmpty)
    #expect(ended.lost == 2)
    #expect(ledger.held.isEmpty)
    let isCounted = ledger.release(numbers[0])
    #expect(!isCounted)
    #expect(!ledger.hasNews)
  }

  @Test("A settlement that was not told is told in the next session")
  func settlements() {
    var (ledger, _) = ledger("e 1|b:9")
    ledger.settle("e 1|b:9", "5", "b", 9, 2)
    _ = ledger.claims(validUntil: end, now: before)
    #expect(ledger.takeNews() == ["s", "e 1|b:9", "5", "b", "9", "2"])
  }

  @Test("What is confirmed after the end of the lease is not kept")
  func lateConfirmation() {
    var (ledger, _) = ledger("e 1|", "e 1|")
    let claims = ledger.claims(validUntil: end, now: before).claims
    let inTime = ledger.keepOnly(claims, validUntil: end, now: before)
    #expect(inTime == 0)
    let late = ledger.keepOnly(claims, validUntil: end, now: end)
    #expect(late == 2)
    let again = ledger.claims(validUntil: end, now: before)
    #expect(again.claims.isEmpty && again.lost == 0)
  }

  @Test("What is released between the claim and its confirmation reduces what is kept, and is told")
  func releasedBetween() {
    var (ledger, numbers) = ledger("e 1|", "e 1|", "e 1|")
    #expect(ledger.claims(validUntil: end, now: before).claims == ["e": 3])
    let isCounted = ledger.release(numbers[0])
    #expect(isCounted)
    // Redis counts two, and one when it is told of the release.
    let lost = ledger.keepOnly(["e": 2], validUntil: end, now: before)
    #expect(lost == 1)
    #expect(ledger.held.count == 1)
    #expect(ledger.takeNews() == ["r", "e 1|", "1"])
  }

  @Test("All that was released and confirmed leaves the rest")
  func allConfirmed() {
    var (ledger, numbers) = ledger("e 2 g 1|", "e 1|")
    let claims = ledger.claims(validUntil: end, now: before).claims
    _ = ledger.release(numbers[0])
    let lost = ledger.keepOnly(claims, validUntil: end, now: before)
    #expect(lost == 0)
    #expect(ledger.held == [numbers[1]: "e 1|"])
  }
}
