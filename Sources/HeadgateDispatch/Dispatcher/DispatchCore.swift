import HeadgateThreads
import Synchronization

/// What all operations of one dispatcher share: the gate, the transport, and the count of what is owed.
///
/// What every request asks of the gate and the clock goes through methods that are never inlined: an operation keeps the
/// core, and the core keeps those, so that no request counts references to objects which all threads share. Inlined, each
/// access would: the counts would travel from processor to processor.
final class DispatchCore: Sendable {
  let gate: EndPointGate
  let transport: any Transport
  /// What the transport can do, asked once.
  let capabilities: TransportCapabilities
  let ledger = Ledger()
  let delegates = DelegatePool()
  /// The gate's identity, for delivery frames.
  let gateIdentity: ObjectIdentifier
  private let timers: any TimerService
  private let followsSystemClock: Bool

  init(_ gate: EndPointGate, _ transport: any Transport) {
    self.gate = gate
    self.transport = transport
    capabilities = transport.capabilities
    gateIdentity = ObjectIdentifier(gate)
    timers = gate.timers
    followsSystemClock = gate.timers is TimerThread
  }

  // Requests between two attempts, of which the gate knows nothing.
  private let resting = Locked<[ObjectIdentifier: DispatchOperation]>([:])

  var now: Deadline { followsSystemClock ? .now : timersNow }

  @inline(never) private var timersNow: Deadline { timers.now }

  @inline(never)
  func submit(
    _ operation: DispatchOperation, to endPoint: EndPoint, _ lane: RequestClass, priority: RequestPriority,
    patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool, at moment: Deadline
  ) -> Scheduler<any GateClient>.Submission {
    gate.submit(operation, to: endPoint, lane, priority: priority, patience: patience, mayBeHeld: mayBeHeld, at: moment)
  }

  @inline(never)
  func finish(_ ticket: Ticket) { gate.finish(ticket) }

  @inline(never)
  func note(multiplexes does: Bool, at endPoint: EndPoint) {
    gate.perform { $0.setMultiplexing(does, at: endPoint) }
  }

  /// One operation more whose caller has to be told of its end.
  @inline(never)
  func owe() { ledger.enter() }

  /// The caller of an operation was told.
  @inline(never)
  func settle() { ledger.leave() }

  /// Takes an operation's timers back.
  func cancel(_ operationTimers: OperationTimers) {
    if !operationTimers.isEmpty { operationTimers.cancel(on: timers) }
  }

  @inline(never)
  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> TimerQueue.Key {
    timers.schedule(at: deadline, action).key
  }

  @inline(never)
  func cancel(_ key: TimerQueue.Key) { ScheduledTimer(service: timers, key: key).cancel() }

  func enterRest(_ operation: DispatchOperation) { resting.withLock { $0[ObjectIdentifier(operation)] = operation } }

  func leaveRest(_ operation: DispatchOperation) {
    // The caller's own reference keeps it beyond the lock.
    _ = resting.withLock { $0.removeValue(forKey: ObjectIdentifier(operation)) }
  }

  var atRest: [DispatchOperation] { resting.withLock { Array($0.values) } }

  /// Whether the dispatcher takes nothing new, whatever its gate does: one that shares the gate ends by itself.
  var isClosed: Bool { ledger.isClosed }
}

/// Counts what a dispatcher still owes: each operation until its caller was told, and the transport until it is closed.
final class Ledger: Sendable {
  // One is the transport's, and one stands for a dispatcher that shares its gate and has not closed.
  private let open = Atomic<Int>(1)
  private let closed = Atomic<Bool>(false)
  private let transportEnds = Locked<(@Sendable () -> Void)?>(nil)
  let settled = Drain()

  func enter() { open.add(1, ordering: .relaxed) }

  func leave() {
    switch open.subtract(1, ordering: .acquiringAndReleasing).newValue {
    case 0: settled.finish()
    case 1: endTransport()
    default: break
    }
  }

  /// Makes it count by itself when the transport may close: for a dispatcher whose gate goes on without it.
  func countsAlone(_ end: @escaping @Sendable () -> Void) {
    transportEnds.withLock { $0 = end }
    enter()
  }

  var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// No more is taken. Once all operations have ended the transport is closed. Only the first call does something.
  func close() { if !closed.exchange(true, ordering: .acquiringAndReleasing) { leave() } }

  private func endTransport() {
    // One is left: the transport. A dispatcher that owns its gate is told by that instead.
    guard isClosed else { return }
    let end = transportEnds.withLock { $0.take() }
    end?()
  }
}
