import HeadgateLibC
import HeadgateThreads

// From requests to bytes sent.

extension OriginLoop {
  /// The maximum number of bytes that a connection sends in one turn.
  private static let sendLimit = 1 << 20

  /// The time that a client has to close after the server, before the connection is reset.
  private static let lingerTime = Duration.seconds(5)

  /// The request is complete: answers it, after its delay.
  func respond(_ connection: Connection) {
    connection.exchange?.bodyEnded(connection.body)
    connection.body = BodyReader(.none, keeps: false)
    guard let delay = connection.exchange?.answer.delay, delay > .zero else { return act(connection) }
    connection.phase = .delayed
    setAlarm(of: connection, at: .after(delay))
  }

  /// Performs the response.
  func act(_ connection: Connection) {
    switch connection.exchange?.answer.conduct {
    case .hold:
      // It was released during its delay, or while its body arrived.
      if connection.arrivalEpoch < shared.releaseEpoch { return start(connection) }
      connection.phase = .held
      held.insert(connection.descriptor)
    case .silence:
      connection.phase = .silent
    case .reset:
      close(connection, .broken, withReset: true)
    case .answer, nil:
      start(connection)
    }
  }

  /// Answers requests that arrived before a call of `release` and are held.
  func release(before epoch: UInt64) {
    for descriptor in held {
      guard let connection = connection(descriptor), connection.arrivalEpoch < epoch else { continue }
      held.remove(descriptor)
      if connection.phase == .paused { readOn(connection) } else { start(connection) }
      advance(connection)
    }
  }

  private func start(_ connection: Connection) {
    guard let source = connection.exchange?.begin(&connection.output) else { return }
    connection.source = source
    connection.phase = .answering
    flush(connection)
  }

  /// Continues with a response, and then with the input received meanwhile.
  func resume(_ connection: Connection) {
    flush(connection)
    advance(connection)
  }

  /// Sends until the response is complete, the socket is full, or the next piece is not due yet.
  func flush(_ connection: Connection) {
    var left = Self.sendLimit
    while true {
      var step = PayloadSource.Step.more
      // Filled only while nothing was sent, so that the head and a short body leave in one segment.
      while connection.sent == 0, connection.output.count < PayloadSource.pieceLimit {
        step = connection.source.step(into: &connection.output)
        guard case .more = step else { break }
      }
      if connection.sent < connection.output.count {
        switch StreamSocket.send(connection.descriptor, connection.output[connection.sent...]) {
        case .blocked: return want(connection, [.read, .write])
        case .ended: return close(connection, .aborted)
        case .bytes(let count):
          connection.sent += count
          left -= count
        }
        guard connection.sent == connection.output.count else { continue }
        connection.dropSent()
      }
      switch step {
      case .more:
        if left <= 0 { return want(connection, [.read, .write]) }
      case .wait(let deadline):
        want(connection, .read)
        return setAlarm(of: connection, at: deadline)
      case .end(let ending):
        return end(connection, ending)
      }
    }
  }

  /// Sends an interim response. If the socket is full, it is sent together with the final one.
  func flushInterim(_ connection: Connection) {
    if case .bytes(let count) = StreamSocket.send(connection.descriptor, connection.output[...]) {
      connection.output.removeFirst(count)
    }
  }

  func want(_ connection: Connection, _ interest: PollInterest) {
    guard connection.interest != interest else { return }
    connection.interest = interest
    shared.poller.modify(connection.descriptor, interest)
  }

  /// The response has been sent as far as intended.
  private func end(_ connection: Connection, _ ending: PayloadSource.Ending) {
    guard let exchange = connection.exchange else { return }
    if ending == .reset { return close(connection, .broken, withReset: true) }
    want(connection, .read)
    connection.exchange = nil
    connection.source = .empty
    if exchange.closes || ending == .cut { linger(connection) } else { connection.phase = .head }
    if exchange.isCounted { change(connection.endPoint) { $0.ended(ending == .whole ? .served : .broken) } }
    if exchange.answer.isAbrupt { close(connection, .served) }
  }

  /// Closes the sending side and waits for the client to close. Closing with unread input would reset the connection,
  /// and the client could lose the response.
  private func linger(_ connection: Connection) {
    connection.phase = .lingering
    connection.input = []
    connection.taken = 0
    Socket.shutdownWriting(connection.descriptor)
    setAlarm(of: connection, at: .after(Self.lingerTime))
  }
}
