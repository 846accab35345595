/// A start that was counted with a weight, and may be settled.
final class SentWeight: Sendable {
  private let gate: EndPointGate
  private let ticket: Ticket

  init(_ gate: EndPointGate, _ ticket: Ticket) { (self.gate, self.ticket) = (gate, ticket) }

  func settle(_ weights: [String: Int]) -> Bool { gate.settle(ticket, weights) }
}
