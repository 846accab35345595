import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Permits on loan change who decides, and nothing of what is decided: a gate that lends and a scheduler that doesn't get
/// the same events, and start the same requests at the same events in the same order.
@Suite struct LoanTwinTests {
  private struct Pair {
    var plain: Ticket
    var lent: Ticket
    var isRunning: Bool
  }

  @Test("a gate that lends starts what one that doesn't would have started")
  func twins() throws {
    var (onLoan, tookOver) = (0, 0)
    for seed in UInt64(1)...16 { try play(seed, &onLoan, &tookOver) }
    // Else this would have compared a scheduler with itself.
    #expect(onLoan > 1000 && tookOver > 200, "\(onLoan) on loan, \(tookOver) taken over")
  }

  private func play(_ seed: UInt64, _ onLoan: inout Int, _ tookOver: inout Int) throws {
    var random = SeededRandom(seed: seed)
    let endPoints = try (0..<10).map { try EndPoint(host: "h\($0)", port: 80) }
    var limits = try GateLimits(endPoint: .standard, total: 120, waiting: 30, overflow: .dropLowest)
    limits.ageing = .nanoseconds(300)
    var plain = Scheduler<Int>(limits: limits)
    let lending = GateUnderTest(limits)
    var pairs: [Int: Pair] = [:]

    /// What both have to do, as text; the tickets are noted.
    func drain() -> (plain: [String], lending: [String]) {
      var (told, toldOnLoan): ([String], [String]) = ([], [])
      while let effect = plain.next() {
        if case .start(let item, let ticket, _) = effect {
          pairs[item]?.plain = ticket
          pairs[item]?.isRunning = true
        }
        if case .shed(let item) = effect { pairs[item] = nil }
        told.append(Self.words(effect))
      }
      while let effect = lending.next() {
        if case .start(let item, let ticket, _) = effect { pairs[item]?.lent = ticket }
        toldOnLoan.append(Self.words(effect))
      }
      return (told, toldOnLoan)
    }

    for item in 0..<4000 {
      // No two at one moment: then the age of a request is the same wherever it is kept.
      let moment = Deadline(nanoseconds: UInt64(item + 1) * 1000)
      let place = endPoints.randomElement(using: &random) ?? endPoints[0]
      let known = pairs.isEmpty ? nil : pairs.keys.sorted().randomElement(using: &random)
      // Calm at first, then crowded, then calm again.
      let busy = (item / 500).isMultiple(of: 2) ? 36 : 55
      switch (Int.random(in: 0..<100, using: &random), known) {
      case (0..<busy, _):
        let lane: RequestLane = Int.random(in: 0..<12, using: &random) == 0 ? .long : .short
        let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
        let mayStart = Int.random(in: 0..<20, using: &random) > 0
        let first = plain.submit(
          item, to: place, lane, priority: priority, at: moment, mayStart: mayStart)
        let second = lending.submit(
          item, to: place, lane, priority: priority, at: moment, mayStart: mayStart)
        switch (first, second) {
        case (.started(let one, let most), .started(let other, let mostOnLoan)):
          #expect(most == mostOnLoan)
          pairs[item] = Pair(plain: one, lent: other, isRunning: true)
          if other.loan != nil { onLoan += 1 }
        case (.accepted(let one), .accepted(let other)), (.held(let one), .held(let other)):
          pairs[item] = Pair(plain: one, lent: other, isRunning: false)
        case (.refused(let one), .refused(let other)): #expect(one == other)
        default: Issue.record("\(item): \(first) without loans, \(second) with")
        }
      case (busy..<88, let known?):
        guard let pair = pairs[known], pair.isRunning else { break }
        if pair.lent.loan != nil, case .elsewhere = lending.state.setPriority(.normal, of: pair.lent) { tookOver += 1 }
        #expect(plain.finish(pair.plain) == known && lending.finish(pair.lent) == known)
        pairs[known] = nil
      case (88..<93, let known?):
        guard let pair = pairs[known] else { break }
        switch (plain.withdraw(pair.plain), lending.withdraw(pair.lent)) {
        case (.waiting, .waiting): pairs[known] = nil
        case (.running, .running), (.gone, .gone): break
        default: Issue.record("\(known) was withdrawn from different places")
        }
      case (93..<96, let known?):
        guard let pair = pairs[known], pair.isRunning else { break }
        switch (plain.move(pair.plain, to: place), lending.move(pair.lent, to: place)) {
        case (.moved, .moved): pairs[known]?.isRunning = false
        case (.stays, .stays), (.refused, .refused): break
        default: Issue.record("\(known) went on in one place only")
        }
      case (96..<97, _) where item % 4 == 0:
        let pauses = Int.random(in: 0..<3, using: &random) == 0
        plain.setPaused(pauses, at: place)
        lending.setPaused(pauses, at: place)
      case (97..<98, _) where item % 4 == 0:
        limits.total = Int.random(in: 30...200, using: &random)
        plain.setLimits(limits)
        lending.setLimits(limits)
      case (98..<99, _) where item % 4 == 0:
        #expect(
          plain.outlook(for: place, .short, at: moment) == lending.outlook(for: place, .short, at: moment))
      default: break
      }
      let (told, toldOnLoan) = drain()
      #expect(told == toldOnLoan, "seed \(seed), event \(item)")
      #expect(plain.waiting == lending.waiting)
      if told != toldOnLoan { return }
    }
  }

  private static func words(_ effect: Scheduler<Int>.Effect) -> String {
    switch effect {
    case .start(let item, _, let limit): "start \(item) of \(limit)"
    case .admit(let item): "admit \(item)"
    case .end(let item): "end \(item)"
    case .shed(let item): "shed \(item)"
    case .abort(let item): "abort \(item)"
    case .drained: "drained"
    }
  }
}
