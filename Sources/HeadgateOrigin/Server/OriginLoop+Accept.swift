import HeadgateLibC
import HeadgateThreads

// Accepting and closing connections, which updates the counts.

extension OriginLoop {
  /// The maximum number of connections accepted in one turn, so that timers are not delayed.
  private static let acceptLimit = 128

  /// The delay before accepting again when the system has no descriptors left.
  private static let scarcityPause = Duration.milliseconds(50)

  /// Accepts pending connections at an end-point.
  func accept(_ listener: Int32, _ endPoint: Int) {
    let patience = Deadline.after(.milliseconds(1))
    for _ in 0..<Self.acceptLimit {
      switch Socket.accept(listener) {
      case .none:
        return
      case .exhausted:
        // The listener stays readable, so an immediate retry would keep the thread busy.
        for listener in listeners { shared.poller.modify(listener, []) }
        _ = setAlarm(.listeners, at: .after(Self.scarcityPause))
        return
      case .connection(let descriptor):
        noticeCloses(until: .distantPast)
        awaitCloses(endPoint, until: patience)
        admit(descriptor, endPoint)
      }
    }
  }

  /// Serves the events on other connections so far.
  ///
  /// The new connection has left the listener's queue, so earlier closes by its client have arrived too. They are
  /// counted first, so that the client is not seen with one socket too many.
  private func noticeCloses(until deadline: Deadline) {
    // One wait returns about a hundred events; the connections concerned move to the end of the kernel's queue.
    for _ in 0...(openCount / 64) {
      shared.poller.wait(until: deadline, into: &laterEvents)
      serve(laterEvents)
      if laterEvents.count < 64 { return }
    }
  }

  /// Waits for closes where they matter: before a new peak, and before a refusal.
  ///
  /// If the client's thread moves to another processor in between, the kernel may deliver a connection before an
  /// earlier close. The wait is repeated, because other pending connections and writable streams end it at once.
  private func awaitCloses(_ endPoint: Int, until deadline: Deadline) {
    repeat {
      let counts = shared.counts(endPoint)
      guard counts.sockets >= counts.peakSockets || places[endPoint] >= shared.script.connectionLimit ?? .max else {
        return
      }
      noticeCloses(until: deadline)
    } while Deadline.now < deadline
  }

  private func admit(_ descriptor: Int32, _ endPoint: Int) {
    let limit = shared.script.connectionLimit
    let isRefused = limit.map { places[endPoint] >= $0 } ?? false
    if connections.count <= Int(descriptor) {
      connections += Array(repeating: nil, count: Int(descriptor) + 1 - connections.count)
    }
    let connection = Connection(descriptor: descriptor, endPoint: endPoint, refused: isRefused)
    connections[Int(descriptor)] = connection
    openCount += 1
    if !isRefused { places[endPoint] += 1 }
    shared.poller.add(descriptor, .read)
    change(endPoint) { $0.opened(refused: isRefused) }
  }

  /// Closes a connection and removes it and its request from the counts.
  func close(_ connection: Connection, _ outcome: OriginCounts.Outcome, withReset: Bool = false) {
    guard connection.phase != .closed else { return }
    if connection.takesPlace { places[connection.endPoint] -= 1 }
    connection.phase = .closed
    clearAlarm(of: connection)
    held.remove(connection.descriptor)
    connections[Int(connection.descriptor)] = nil
    openCount -= 1
    shared.poller.remove(connection.descriptor)
    if withReset { Socket.reset(connection.descriptor) } else { StreamSocket.close(connection.descriptor) }
    let wasAnswering = connection.exchange?.isCounted == true
    connection.exchange = nil
    change(connection.endPoint) { counts in
      if wasAnswering { counts.ended(outcome) }
      counts.closed()
    }
  }
}
