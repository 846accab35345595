import HeadgateThreads

/// Delivers effects beyond the number that a caller must deliver: one thread for the process, started when first
/// needed.
///
/// A thread that causes an event delivers a few effects, which nearly always are all. Only if a limit is raised over a
/// long queue, or if the transport completes inside its start, are there more. They are delivered here.
final class OverflowDelivery: Sendable {
  /// Nil if the system refused a thread when one was first needed: the callers then deliver all effects themselves.
  static let shared = OverflowDelivery()

  private let gates = Locked<[EndPointGate]>([])
  private let parker = Parker()

  private init?() {
    guard (try? WorkerThread(name: "headgate-overflow", serves: true) { [self] in run() }) != nil else { return nil }
  }

  /// Takes over the delivery of a gate's effects.
  func takeOver(_ gate: EndPointGate) {
    gates.withLock { gates in
      // One entry is enough: the thread delivers all effects of the gate.
      if !gates.contains(where: { $0 === gate }) { gates.append(gate) }
    }
    parker.unpark()
  }

  private func run() {
    while true {
      let gate = gates.withLock { gates in gates.isEmpty ? nil : gates.removeFirst() }
      if let gate { gate.deliver(atMost: .max) } else { _ = parker.park() }
    }
  }
}
