/// A start that was charged a weight, which may be corrected.
final class SentWeight: Sendable {
  private let gate: EndPointGate
  private let ticket: Ticket

  init(_ gate: EndPointGate, _ ticket: Ticket) { (self.gate, self.ticket) = (gate, ticket) }

  func settle(_ weights: [String: Int]) -> Bool { gate.settle(ticket, weights) }
}
