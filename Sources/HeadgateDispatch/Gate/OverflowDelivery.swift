import HeadgateThreads

/// Delivers effects beyond the number that a caller must deliver: one thread for the process, started when first
/// needed.
///
/// A thread that causes an event delivers a few effects, which nearly always are all. Only if a limit is raised over a
/// long queue, or if the transport completes inside its start, are there more. They are delivered here.
final class OverflowDelivery: Sendable {
  static let shared = OverflowDelivery()

  private struct State {
    var gates: [EndPointGate] = []
    var isStarted = false
  }

  private let state = Locked(State())
  private let parker = Parker()

  /// Takes over the delivery of a gate's effects. Returns false if the system refuses a thread: the caller must then
  /// continue itself.
  func takeOver(_ gate: EndPointGate) -> Bool {
    let (mustStart, mustWake) = state.withLock { state in
      defer { state.isStarted = true }
      // One entry is enough: the thread delivers all effects of the gate.
      if state.gates.contains(where: { $0 === gate }) { return (!state.isStarted, false) }
      state.gates.append(gate)
      return (!state.isStarted, true)
    }
    if mustStart {
      do {
        _ = try WorkerThread(name: "headgate-overflow", serves: true) { [self] in run() }
      } catch {
        let others = state.withLock { state in
          state.isStarted = false
          defer { state.gates = [] }
          return state.gates.filter { $0 !== gate }
        }
        // Gates that relied on the thread in the meantime are served here.
        for other in others { other.deliver(atMost: .max) }
        return false
      }
    }
    if mustWake { parker.unpark() }
    return true
  }

  private func run() {
    while true {
      let gate = state.withLock { state in state.gates.isEmpty ? nil : state.gates.removeFirst() }
      if let gate { gate.deliver(atMost: .max) } else { _ = parker.park() }
    }
  }
}
