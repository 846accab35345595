import HeadgateThreads
import Synchronization

/// What all operations of one dispatcher share: the gate, the transport, and the count of what is owed.
final class DispatchCore: Sendable {
  let gate: EndPointGate
  let transport: any Transport
  let ledger = Ledger()
  let delegates = DelegatePool()

  init(_ gate: EndPointGate, _ transport: any Transport) {
    self.gate = gate
    self.transport = transport
  }

  var now: Deadline { gate.timers.now }
}

/// Counts what a dispatcher still owes: each operation until its caller was told, and the transport until it is closed.
final class Ledger: Sendable {
  // One is the transport's.
  private let open = Atomic<Int>(1)
  let settled = Drain()

  func enter() { open.add(1, ordering: .relaxed) }

  func leave() {
    if open.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { settled.finish() }
  }
}
