import HeadgateThreads

// From requests to sent bytes.

extension OriginLoop {
  /// The most bytes that one connection sends before others get their turn.
  private static let sendLimit = 1 << 20

  /// How long a client may take to close after the server has, before it is cut off.
  private static let lingerTime = Duration.seconds(5)

  /// The request is whole: answers it, after its delay if it has one.
  func respond(_ connection: Connection) {
    connection.exchange?.echo(connection.body)
    connection.body = BodyReader(.none, keeps: false)
    guard let delay = connection.exchange?.answer.delay, delay > .zero else { return act(connection) }
    connection.phase = .delayed
    setAlarm(of: connection, at: .after(delay))
  }

  /// Does with the request what its answer says.
  func act(_ connection: Connection) {
    switch connection.exchange?.answer.conduct {
    case .hold:
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

  /// Answers what is held and arrived before a call of `release`.
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

  /// Goes on with an answer, and then with what has been received meanwhile.
  func resume(_ connection: Connection) {
    flush(connection)
    advance(connection)
  }

  /// Sends until the answer is whole, the socket takes no more, or the next piece has to wait.
  func flush(_ connection: Connection) {
    var left = Self.sendLimit
    while true {
      var step = PayloadSource.Step.more
      // Filled only while nothing of it has gone out, so that the head and a short body leave together.
      while connection.sent == 0, connection.output.count < PayloadSource.pieceLimit {
        step = connection.source.step(into: &connection.output)
        guard case .more = step else { break }
      }
      if connection.sent < connection.output.count {
        switch Socket.send(connection.descriptor, connection.output, from: connection.sent) {
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

  /// Sends an interim answer, which the final one will push along if the socket takes none of it now.
  func flushInterim(_ connection: Connection) {
    if case .bytes(let count) = Socket.send(connection.descriptor, connection.output, from: 0) {
      connection.output.removeFirst(count)
    }
  }

  func want(_ connection: Connection, _ interest: PollInterest) {
    guard connection.interest != interest else { return }
    connection.interest = interest
    shared.poller.modify(connection.descriptor, interest)
  }

  /// The answer has gone out as far as it was meant to.
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

  /// Ends the sending side and waits for the client to close: closing at once, with something unread, would reset the
  /// connection and could take the answer with it.
  private func linger(_ connection: Connection) {
    connection.phase = .lingering
    connection.input = []
    connection.taken = 0
    Socket.shutdownWriting(connection.descriptor)
    setAlarm(of: connection, at: .after(Self.lingerTime))
  }
}
