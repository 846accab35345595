import HeadgateLibC
import HeadgateThreads

/// The thread of an origin. Each turn waits, serves, accepts and runs timers.
///
/// Everything here is used only on that thread. The counts depend on the order within a turn: events of existing
/// connections come first, starting with their closes, and only then are new ones accepted.
final class OriginLoop {
  let shared: OriginShared
  let listeners: [Int32]
  private let endPoints: [Int32: Int]

  /// By descriptor. Descriptors are small numbers.
  var connections: [Connection?] = []
  var openCount = 0
  /// The number of connections of each end-point that count toward the limit.
  var places: [Int]
  var held: Set<Int32> = []

  var alarms = IndexedHeap<Alarm>()
  private var alarmSequence: UInt64 = 0
  var waiters: [UInt64: (waiter: OriginShared.Waiter, alarm: IndexedHeap<Alarm>.Handle)] = [:]

  /// The buffer for all receives.
  var received = [UInt8](repeating: 0, count: 64 * 1024)
  private var events: [PollEvent] = []
  var laterEvents: [PollEvent] = []

  init(_ shared: OriginShared, _ listeners: [Int32]) {
    self.shared = shared
    self.listeners = listeners
    endPoints = Dictionary(uniqueKeysWithValues: zip(listeners, listeners.indices))
    places = Array(repeating: 0, count: listeners.count)
  }

  /// Serves until the stop command, then closes everything.
  func run() {
    shared.noteThread()
    for listener in listeners { shared.poller.add(listener, .read) }
    // Commands are taken right before each wait: accepting uses the poller too and may consume their wake-up.
    while obey(shared.takeCommands()) {
      shared.poller.wait(until: alarms.min?.key.deadline ?? .distantFuture, into: &events)
      serve(events)
      for event in events {
        if let endPoint = endPoints[event.descriptor] { accept(listeners[endPoint], endPoint) }
      }
      ring()
    }
    for case let connection? in connections { close(connection, .broken) }
    for listener in listeners { StreamSocket.close(listener) }
    _ = obey(shared.takeCommands(last: true))
    for number in waiters.keys { finish(number) }
  }

  /// Executes the commands of callers. Returns false after the stop command.
  private func obey(_ commands: [OriginShared.Command]) -> Bool {
    var goesOn = true
    for command in commands {
      switch command {
      case .wait(let waiter): add(waiter)
      case .cancelWait(let number): finish(number)
      case .release(let epoch): release(before: epoch)
      case .recount: for endPoint in listeners.indices { tell(endPoint, shared.counts(endPoint)) }
      case .stop: goesOn = false
      }
    }
    return goesOn
  }

  /// Serves the connections with events, starting with those that have ended.
  func serve(_ events: [PollEvent]) {
    for event in events where event.closed {
      if let connection = connection(event.descriptor) { read(connection, toEnd: true) }
    }
    for event in events where !event.closed {
      guard let connection = connection(event.descriptor) else { continue }
      if event.readable { read(connection, toEnd: false) }
      if event.writable, connection.phase == .answering { resume(connection) }
    }
  }

  func connection(_ descriptor: Int32) -> Connection? {
    Int(descriptor) < connections.count ? connections[Int(descriptor)] : nil
  }
}

// MARK: - Timers

extension OriginLoop {
  func setAlarm(_ target: Alarm.Target, at deadline: Deadline) -> IndexedHeap<Alarm>.Handle {
    alarmSequence += 1
    return alarms.insert(Alarm(deadline: deadline, sequence: alarmSequence, target: target))
  }

  func setAlarm(of connection: Connection, at deadline: Deadline) {
    clearAlarm(of: connection)
    connection.alarm = setAlarm(.connection(connection.descriptor), at: deadline)
  }

  func clearAlarm(of connection: Connection) {
    if let alarm = connection.alarm { alarms.remove(alarm) }
    connection.alarm = nil
  }

  /// Runs the timers that are due.
  private func ring() {
    guard !alarms.isEmpty else { return }
    let now = Deadline.now
    while let first = alarms.min, first.key.deadline <= now {
      alarms.remove(first.handle)
      switch first.key.target {
      case .listeners:
        for listener in listeners { shared.poller.modify(listener, .read) }
      case .waiter(let number):
        // Its entry has left the heap already, so it is not removed again.
        if let (waiter, _) = waiters.removeValue(forKey: number) { answer(waiter) }
      case .connection(let descriptor):
        guard let connection = connection(descriptor) else { continue }
        connection.alarm = nil
        switch connection.phase {
        case .delayed: act(connection)
        case .answering: flush(connection)
        case .lingering: close(connection, .broken)
        default: continue
        }
        advance(connection)
      }
    }
  }
}

// MARK: - Counts and waiters

extension OriginLoop {
  func change(_ endPoint: Int, _ body: (inout OriginCounts) -> Void) {
    let counts = shared.change(endPoint, body)
    if !waiters.isEmpty { tell(endPoint, counts) }
  }

  private func tell(_ endPoint: Int, _ counts: OriginCounts) {
    for (number, entry) in waiters where entry.waiter.endPoint == endPoint {
      guard entry.waiter.condition(counts), waiters.removeValue(forKey: number) != nil else { continue }
      alarms.remove(entry.alarm)
      entry.waiter.continuation.resume(returning: true)
    }
  }

  private func add(_ waiter: OriginShared.Waiter) {
    if waiter.condition(shared.counts(waiter.endPoint)) { return waiter.continuation.resume(returning: true) }
    waiters[waiter.number] = (waiter, setAlarm(.waiter(waiter.number), at: waiter.deadline))
  }

  /// Ends a wait with the present result.
  private func finish(_ number: UInt64) {
    guard let (waiter, alarm) = waiters.removeValue(forKey: number) else { return }
    alarms.remove(alarm)
    answer(waiter)
  }

  private func answer(_ waiter: OriginShared.Waiter) {
    waiter.continuation.resume(returning: waiter.condition(shared.counts(waiter.endPoint)))
  }
}
