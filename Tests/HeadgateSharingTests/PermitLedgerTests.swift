import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// The permits of all programs at a server, as a value.
@Suite struct PermitLedgerTests {
  private let ask: PermitAsk
  private let limits: EndPointLimits

  init() throws {
    ask = PermitAsk(try EndPoint(host: "a", port: 80))
    limits = try EndPointLimits(requests: 4)
  }

  private func effects(_ ledger: inout PermitLedger) -> [PermitLedger.Effect] { ledger.takeEffects() }

  @Test("a permit is asked for, granted, taken and returned")
  func life() {
    var ledger = PermitLedger()
    let program = ledger.connected()
    ledger.received(.limitEndPoint(ask.endPoint, limits), from: program)
    ledger.received(.ask(7, ask), from: program)
    guard case .limitEndPoint(ask.endPoint, let strictest)? = ledger.takeEffects().first else {
      Issue.record("the limits are not applied")
      return
    }
    #expect(strictest.requests == 4)
    let isWanted = ledger.granted(1)
    #expect(isWanted)
    #expect(effects(&ledger) == [.grant(1, program, number: 7)])
    ledger.received(.taken(7), from: program)
    #expect(effects(&ledger) == [.unguard(1)])
    ledger.received(.release(7), from: program)
    #expect(effects(&ledger) == [.release(1), .remove(1)])
    #expect(ledger.count == 0)
  }

  @Test("a program that dies returns its permit after a wait, which a live one need not")
  func death() {
    var ledger = PermitLedger()
    let program = ledger.connected()
    ledger.received(.ask(1, ask), from: program)
    _ = ledger.granted(1)
    ledger.received(.taken(1), from: program)
    _ = ledger.takeEffects()
    ledger.disconnected(program)
    #expect(effects(&ledger).isEmpty)
    #expect(ledger.held(at: ask.endPoint) == 1)
    ledger.hungUp(1)
    #expect(effects(&ledger) == [.wait(1)])
    #expect(ledger.held(at: ask.endPoint) == 1)
    ledger.isOver(1)
    #expect(effects(&ledger) == [.release(1), .remove(1)])
  }

  @Test("a program that dies between the grant and the taking gives up the guard; its pipe tells the rest")
  func deathBeforeTaking() {
    var ledger = PermitLedger()
    let program = ledger.connected()
    ledger.received(.ask(1, ask), from: program)
    _ = ledger.granted(1)
    _ = ledger.takeEffects()
    ledger.disconnected(program)
    #expect(effects(&ledger) == [.unguard(1)])
  }

  @Test("a request that is withdrawn is not granted, whichever comes first")
  func withdrawn() {
    var ledger = PermitLedger()
    let program = ledger.connected()
    ledger.received(.ask(1, ask), from: program)
    ledger.received(.cancel(1), from: program)
    #expect(effects(&ledger) == [.ask(1, ask), .release(1)])
    let isWanted = ledger.granted(1)
    #expect(!isWanted)
    ledger.received(.ask(2, ask), from: program)
    _ = ledger.granted(2)
    // The program has not seen the grant yet. It returns the permit when it does.
    ledger.received(.cancel(2), from: program)
    #expect(effects(&ledger) == [.ask(2, ask), .grant(2, program, number: 2)])
    ledger.received(.release(2), from: program)
    #expect(effects(&ledger) == [.release(2), .remove(2)])
  }

  @Test("the limits of a program stay in force until its last permit ends")
  func limitsOfTheDead() throws {
    var ledger = PermitLedger()
    let (first, second) = (ledger.connected(), ledger.connected())
    ledger.received(.limitEndPoint(ask.endPoint, limits), from: first)
    ledger.received(.limitEndPoint(ask.endPoint, try EndPointLimits(requests: 2)), from: second)
    ledger.received(.ask(1, ask), from: second)
    _ = ledger.granted(1)
    _ = ledger.takeEffects()
    ledger.disconnected(second)
    ledger.hungUp(1)
    #expect(effects(&ledger) == [.unguard(1), .wait(1)])
    ledger.isOver(1)
    let effects = ledger.takeEffects()
    guard case .limitEndPoint(ask.endPoint, let strictest)? = effects.last else {
      Issue.record("the limits of the others are not restored")
      return
    }
    #expect(strictest.requests == 4)
  }

  @Test("an inherited permit is counted, and its program is not told again")
  func inherited() {
    var ledger = PermitLedger(after: 9)
    ledger.inherited(3, ask, limits: limits, [:])
    #expect(effects(&ledger).last == .ask(3, ask))
    let isWanted = ledger.granted(3)
    #expect(isWanted)
    #expect(effects(&ledger).isEmpty)
    let program = ledger.connected()
    ledger.received(.ask(1, ask), from: program)
    #expect(effects(&ledger) == [.ask(10, ask)])
    ledger.hungUp(3)
    ledger.isOver(3)
    #expect(effects(&ledger) == [.wait(3), .release(3), .remove(3)])
  }

  @Test("an inherited permit is not charged again, and may have no limits")
  func inheritedBare() {
    var ledger = PermitLedger(after: 9)
    var heavy = ask
    heavy.weights = ["tokens": 9]
    ledger.inherited(3, heavy, limits: nil, [:])
    #expect(effects(&ledger) == [.ask(3, ask)])
  }

  @Test("a program that has taken its permit at the last moment keeps it")
  func takenAgain() {
    var ledger = PermitLedger(after: 9)
    ledger.inherited(3, ask, limits: limits, [:])
    let early = ledger.takenAgain(3)
    #expect(!early)
    ledger.hungUp(3)
    _ = ledger.takeEffects()
    let isTaken = ledger.takenAgain(3)
    #expect(isTaken)
    ledger.isOver(3)
    #expect(effects(&ledger).isEmpty)
    #expect(ledger.held(at: ask.endPoint) == 1)
    ledger.hungUp(3)
    ledger.isOver(3)
    #expect(effects(&ledger) == [.wait(3), .release(3), .remove(3)])
  }

  @Test("a weight can be corrected before and after the release, once")
  func settled() {
    var ledger = PermitLedger()
    var heavy = ask
    heavy.weights = ["tokens": 9]
    let program = ledger.connected()
    ledger.received(.ask(1, heavy), from: program)
    _ = ledger.granted(1)
    ledger.received(.release(1), from: program)
    _ = ledger.takeEffects()
    ledger.received(.settle(1, ["tokens": 4]), from: program)
    ledger.received(.settle(1, ["tokens": 2]), from: program)
    #expect(effects(&ledger) == [.settle(1, ["tokens": 4])])
  }

  @Test("a number in use ends the connection; a request too many is refused alone")
  func abuse() {
    var ledger = PermitLedger()
    let program = ledger.connected()
    ledger.received(.ask(1, ask), from: program)
    ledger.received(.ask(1, ask), from: program)
    guard case .drop(program, _)? = ledger.takeEffects().last else {
      Issue.record("the number was taken twice")
      return
    }
    for number in 2...UInt64(PermitLedger.mostOfAProgram) { ledger.received(.ask(number, ask), from: program) }
    _ = ledger.takeEffects()
    ledger.received(.ask(0, ask), from: program)
    guard case .refuse(program, number: 0, _, _)? = ledger.takeEffects().last else {
      Issue.record("there is no bound")
      return
    }
  }
}
