import HeadgateThreads

// Accepting and closing: where a connection enters the counts and leaves them.

extension OriginLoop {
  /// The most connections that one turn accepts, so that timers get their turn too.
  private static let acceptLimit = 128

  /// How long to wait for descriptors when the system has none to give.
  private static let scarcityPause = Duration.milliseconds(50)

  /// Accepts what has arrived at an end-point.
  func accept(_ listener: Int32, _ endPoint: Int) {
    for _ in 0..<Self.acceptLimit {
      switch Socket.accept(listener) {
      case .none:
        return
      case .exhausted:
        // The listener stays readable: asking again at once would keep the thread busy.
        for listener in listeners { shared.poller.modify(listener, []) }
        _ = setAlarm(.listeners, at: .after(Self.scarcityPause))
        return
      case .connection(let descriptor):
        noticeCloses(until: .distantPast)
        // When the client's thread changes processors between the two, the kernel may bring a connection before the
        // close that preceded it. Looked into where it would count: for a new peak, and before a refusal.
        let counts = shared.counts(endPoint)
        if counts.sockets >= counts.peakSockets || places[endPoint] >= shared.script.connectionLimit ?? .max {
          noticeCloses(until: .after(.milliseconds(1)))
        }
        admit(descriptor, endPoint)
      }
    }
  }

  /// Serves what has happened on the other connections by now.
  ///
  /// The new connection is out of the listener's queue, so whatever its client closed before it connected has arrived
  /// too: counting those closes first keeps the client from being seen with a socket too many.
  private func noticeCloses(until deadline: Deadline) {
    // One wait hears of a hundred or so; those that it has heard of go to the back of the kernel's queue.
    for _ in 0...(openCount / 64) {
      shared.poller.wait(until: deadline, into: &laterEvents)
      serve(laterEvents)
      if laterEvents.count < 64 { return }
    }
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

  /// Closes a connection and takes it out of the counts, with the request that it was at.
  func close(_ connection: Connection, _ outcome: OriginCounts.Outcome, withReset: Bool = false) {
    guard connection.phase != .closed else { return }
    if connection.takesPlace { places[connection.endPoint] -= 1 }
    connection.phase = .closed
    clearAlarm(of: connection)
    held.remove(connection.descriptor)
    connections[Int(connection.descriptor)] = nil
    openCount -= 1
    shared.poller.remove(connection.descriptor)
    if withReset { Socket.reset(connection.descriptor) } else { Socket.close(connection.descriptor) }
    let wasAnswering = connection.exchange?.isCounted == true
    connection.exchange = nil
    change(connection.endPoint) { counts in
      if wasAnswering { counts.ended(outcome) }
      counts.closed()
    }
  }
}
