import HeadgateGate

/// A start that was charged a weight: by the gate, and by a coordinator if there is one.
final class SentWeight: Sendable {
  private let gate: EndPointGate
  private let ticket: Ticket
  private let permit: (any SharedPermit)?
  private let settlement = SingleUse()

  /// - Parameter ticket: That of a request that has its permit, or both permits.
  init(_ gate: EndPointGate, _ ticket: Ticket) {
    (self.gate, self.ticket, permit) = (gate, ticket, gate.sharedPermit(of: ticket))
  }

  /// Corrects the charges, once. Returns whether the gate's was corrected.
  func settle(_ weights: [String: Int]) -> Bool {
    guard settlement.take() else { return false }
    permit?.settle(weights)
    return gate.settle(ticket, weights)
  }
}
