import HeadgateDispatch
import Testing

@testable import HeadgateSharing

// The programs' side: they connect, ask, cancel, take, return and die, in the manner of `UnixLink`.
extension LedgerWorld {
  /// One random event.
  mutating func step() throws {
    switch below(31) {
    case 0..<7: try ask()
    case 7: cancel()
    case 8..<13: if let client = pick(clients.keys) { try read(client) }
    case 13..<17: if let client = pick(clients.keys) { release(client) }
    case 17: if below(3) == 0, let client = pick(clients.keys) { die(client) }
    case 18..<25: if let program = pick(sessions.keys) { deliver(program) }
    case 25: notice()
    case 26: ring()
    case 27: if let id = pick(dying) { (dying, used[id]) = (dying.subtracting([id]), nil) }
    case 28: if below(12) == 0 { replace() }
    case 29:
      if let program = pick(sessions.keys), below(4) == 0 {
        let pause = SharedPause(at: endPoints[below(2)], left: .seconds(1 + below(60)), .refused(status: 429))
        send(.pause(PermitPause(try #require(pause))), to: program)
      }
    default:
      if let client = pick(clients.keys), below(2) == 0 {
        let (endPoint, limit) = (endPoints[below(2)], 1 + below(3))
        clients[client]?.limits[endPoint] = limit
      }
    }
  }

  private mutating func ask() throws {
    if clients.count < 5 {
      lastClient += 1
      var client = Client()
      for endPoint in endPoints { client.limits[endPoint] = 1 + below(3) }
      clients[lastClient] = client
    }
    guard let id = pick(clients.keys) else { return }
    try connect(id)
    guard let client = clients[id], client.waits.count < 4, client.session != nil else { return }
    try ask(id, endPoints[below(2)])
  }

  /// A program reads all replies of an earlier server before it connects to the next one, and asks again.
  private mutating func connect(_ id: Int) throws {
    guard let client = clients[id], client.session == nil, client.replies.isEmpty else { return }
    let program = ledger.connected()
    sessions[program] = Session(client: id)
    clients[id]?.session = program
    for (number, endPoint) in client.waits.sorted(by: { $0.key < $1.key }) { try send(id, number, endPoint) }
  }

  private mutating func ask(_ id: Int, _ endPoint: EndPoint) throws {
    clients[id]?.lastNumber += 1
    guard let number = clients[id]?.lastNumber else { return }
    clients[id]?.waits[number] = endPoint
    try send(id, number, endPoint)
  }

  private mutating func send(_ id: Int, _ number: UInt64, _ endPoint: EndPoint) throws {
    guard let client = clients[id], let own = client.limits[endPoint] else { return }
    if client.told[endPoint] != own {
      clients[id]?.told[endPoint] = own
      send(.limitEndPoint(endPoint, try EndPointLimits(requests: own)), to: client.session)
    }
    send(.ask(number, PermitAsk(endPoint)), to: client.session)
  }

  private mutating func send(_ command: PermitCommand, to session: UInt64?) {
    if let session { sessions[session]?.commands.append(command) }
  }

  private mutating func cancel() {
    guard let id = pick(clients.keys), let number = pick(clients[id]?.waits.keys.sorted() ?? []) else { return }
    clients[id]?.waits[number] = nil
    send(.cancel(number), to: clients[id]?.session)
  }

  /// A program reads the next reply: it opens the pipe of its permit.
  private mutating func read(_ id: Int) throws {
    guard var client = clients[id], !client.replies.isEmpty else { return }
    let (number, permit) = client.replies.removeFirst()
    let endPoint = client.waits.removeValue(forKey: number)
    clients[id] = client
    guard let pipe = pipes[permit] else {
      seen.insert("too late")
      send(.release(number), to: client.session)
      if let endPoint { try ask(id, endPoint) }
      return
    }
    if pipe.hasWriter { violations.append("\(permit) has two holders") }
    guard endPoint != nil else {
      // It was cancelled: returned at once.
      seen.insert("unwanted")
      return send(.release(number), to: client.session)
    }
    pipes[permit]?.hasWriter = true
    used[permit] = pipe.ask.endPoint
    clients[id]?.held[permit] = (number, client.session)
    send(.taken(number), to: client.session)
    settle()
  }

  private mutating func release(_ id: Int) {
    guard let permit = pick(clients[id]?.held.keys.sorted() ?? []),
      let (number, session) = clients[id]?.held.removeValue(forKey: permit)
    else { return }
    close(permit)
    used[permit] = nil
    // Some programs just close the pipe.
    switch below(6) {
    case 0..<3: send(.release(number), to: session)
    case 3: send(.decline(number), to: session)
    default: seen.insert("without a word")
    }
  }

  private mutating func close(_ permit: ID) { pipes[permit]?.hasWriter = false }

  /// The kernel closes pipes and the connection at once. What the program worked on ends a little later.
  private mutating func die(_ id: Int) {
    guard let client = clients.removeValue(forKey: id) else { return }
    seen.insert(client.replies.isEmpty ? "died" : "died before it took")
    for permit in client.held.keys {
      close(permit)
      dying.insert(permit)
    }
    if let session = client.session { sessions[session]?.isClosing = true }
  }

  /// The server notices that a pipe has no writer.
  private mutating func notice() {
    let left = pipes.filter { !$0.value.isGuarded && !$0.value.hasWriter && $0.value.isWatched }
    guard let id = pick(left.keys) else { return }
    hungUp(id)
    settle()
  }

  /// Programs return what they hold, until nothing is left to do.
  mutating func finish() throws {
    for _ in 0..<2_000 where !isIdle {
      for id in clients.keys.sorted() {
        try connect(id)
        try read(id)
        release(id)
      }
      for program in sessions.keys.sorted() { deliver(program) }
      notice()
      ring()
    }
    if clients.values.contains(where: { !$0.waits.isEmpty }) { violations.append("a request waits for ever") }
    if ledger.count > 0 { violations.append("\(ledger.count) permits are lost") }
    if !pipes.isEmpty { violations.append("\(pipes.count) pipes are left") }
  }

  private var isIdle: Bool {
    clients.values.allSatisfy { $0.waits.isEmpty && $0.held.isEmpty && $0.replies.isEmpty } && ledger.count == 0
      && sessions.values.allSatisfy { $0.commands.isEmpty && !$0.isClosing }
  }
}
