import HeadgateThreads

/// A start that was charged a weight: by the gate, and by a coordinator if there is one.
final class WeighedStart: Sendable {
  let ticket: Ticket
  private let permit = LockedBox<(any SharedPermit)?>(nil)

  init(_ ticket: Ticket) { self.ticket = ticket }

  /// The request has a shared permit, which was charged too.
  func join(_ permit: any SharedPermit) { self.permit.withLock { $0 = permit } }

  /// Corrects both charges. Returns whether the gate's was corrected.
  func settle(_ weights: [String: Int], at gate: EndPointGate) -> Bool {
    permit.withLock { $0 }?.settle(weights)
    return gate.settle(ticket, weights)
  }
}

/// A start that was charged a weight, which may be corrected.
final class SentWeight: Sendable {
  private let gate: EndPointGate
  private let start: WeighedStart

  init(_ gate: EndPointGate, _ start: WeighedStart) { (self.gate, self.start) = (gate, start) }

  func settle(_ weights: [String: Int]) -> Bool { start.settle(weights, at: gate) }
}
