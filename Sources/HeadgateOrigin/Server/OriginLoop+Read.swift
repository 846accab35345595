import HeadgateLibC
import HeadgateThreads

// From bytes received to requests.

extension OriginLoop {
  /// The maximum amount of pipelined input before the connection is closed.
  private static let aheadLimit = 1 << 20

  /// Receives input. `toEnd` is true if the end of the connection is known to have arrived: then everything before it
  /// is read too.
  func read(_ connection: Connection, toEnd: Bool) {
    // All input is read, even if it is not needed: the end of a connection becomes visible only after everything
    // before it.
    if toEnd, connection.phase == .paused { readOn(connection) }
    var turns = 0
    while connection.phase != .closed, connection.phase != .paused, toEnd || turns < 16 {
      turns += 1
      switch StreamSocket.receive(connection.descriptor, into: &received) {
      case .blocked:
        return
      case .ended:
        return close(connection, .aborted)
      case .bytes(let count):
        take(count, connection)
        if count < received.count, !toEnd { return }
      }
    }
  }

  /// Continues with a paused body.
  func readOn(_ connection: Connection) {
    connection.exchange?.answer.pausesAfter = nil
    connection.phase = .body
    held.remove(connection.descriptor)
    want(connection, .read)
  }

  private func take(_ count: Int, _ connection: Connection) {
    if connection.phase == .lingering || connection.phase == .refused { return }
    connection.input.append(contentsOf: received[..<count])
    advance(connection)
    let isWaiting = connection.phase != .head && connection.phase != .body
    if isWaiting, connection.input.count - connection.taken > Self.aheadLimit {
      if connection.exchange?.answer.isEarly == true {
        // The rest of a body that is discarded.
        connection.input = []
        connection.taken = 0
      } else {
        close(connection, .broken, withReset: true)
      }
    }
  }

  /// Processes requests until the input has no complete one, or a response must wait.
  func advance(_ connection: Connection) {
    while true {
      switch connection.phase {
      case .head:
        guard connection.taken < connection.input.count else { return connection.dropTaken() }
        switch connection.parser.parse(connection.input, from: connection.taken, endPoint: connection.endPoint) {
        case .incomplete:
          return connection.dropTaken()
        case .malformed(let status):
          refuse(connection, status)
        case .request(let request, let end):
          connection.taken = end
          connection.dropTaken()
          begin(connection, request)
        }
      case .body:
        let before = connection.body.count
        let progress = connection.body.read(connection.input, &connection.taken)
        let more = connection.body.count - before
        if more > 0 { change(connection.endPoint) { $0.bodyBytes += more } }
        switch progress {
        case .more:
          connection.dropTaken()
          guard let answer = connection.exchange?.answer else { return }
          if let count = answer.answersAfter, connection.body.count >= count {
            respond(connection)
          } else if let count = answer.pausesAfter, connection.body.count >= count {
            connection.phase = .paused
            held.insert(connection.descriptor)
            return want(connection, [])
          } else {
            return
          }
        case .malformed: refuse(connection, 400)
        case .whole:
          connection.dropTaken()
          respond(connection)
        }
      default:
        return
      }
    }
  }

  private func begin(_ connection: Connection, _ request: OriginRequest) {
    // Before it is counted: a test that sees it in the counts and then calls `release` must release this request too.
    connection.arrivalEpoch = shared.releaseEpoch
    change(connection.endPoint) { $0.began() }
    let script = shared.script
    var answer = script.handler?(request) ?? OriginAnswer(for: request, script: script)
    answer.delay += script.delay
    connection.exchange = Exchange(request, answer)
    if answer.answersAfter == 0 { return respond(connection) }
    connection.body = BodyReader(request.framing, keeps: answer.payload.needsBody)
    connection.phase = .body
    if request.framing != .none, request.expectsContinue, connection.taken == connection.input.count {
      connection.output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
      flushInterim(connection)
    }
  }

  /// Responds to an invalid request, and closes.
  private func refuse(_ connection: Connection, _ status: Int) {
    connection.taken = connection.input.count
    connection.dropTaken()
    if connection.exchange == nil {
      connection.exchange = Exchange(malformed: status)
    } else {
      connection.exchange?.answer = .text("malformed request body\n", status: status)
      connection.exchange?.closes = true
    }
    act(connection)
  }
}
