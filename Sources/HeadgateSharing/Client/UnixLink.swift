import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// The connection of this process to the permit server, on a thread of its own. If the server ends, the thread starts
/// or finds the next one, and repeats the requests that still wait.
final class UnixLink: CoordinatorLink {
  private struct State {
    var phase = Phase.idle
    var socket: Int32 = -1
    // Distinguishes connections: a server knows only the numbers of its own.
    var connection: UInt64 = 0
    var outgoing: [UInt8] = []
    var waits: [UInt64: UnixWait] = [:]
    var lastNumber: UInt64 = 0
    var endPoints: [EndPoint: EndPointLimits] = [:]
    var scopes: [RequestScope: ScopeLimits] = [:]
    var programs = 1
    var back: [@Sendable () -> Void] = []
    var failure = ""
    // Whether requests have failed for lack of a server since the last connection.
    var hasMissed = false
    var poller: Poller?
    // The pauses that this program has told of and that are not over: each new server is told of them.
    var pauses: [EndPoint: PermitPause] = [:]
    // Whether the server has said that it knows pauses. Nil before its first line.
    var knowsPauses: Bool?
  }

  private enum Phase { case idle, connecting, up, down, ended }

  /// The time without a server after which requests fail, and the interval between later attempts to connect.
  private static let patience = Duration.seconds(2)
  private static let interval = Duration.milliseconds(500)

  private let folder: PermitFolder
  private let startServer: @Sendable (PermitFolder) throws(SharingError) -> Void
  private let state = Locked(State())
  private let listeners = PauseListeners()
  private let hasComplained = SingleUse()

  init(_ folder: PermitFolder, _ startServer: @escaping @Sendable (PermitFolder) throws(SharingError) -> Void) {
    (self.folder, self.startServer) = (folder, startServer)
  }

  var programs: Int { state.withLock { max(1, $0.programs) } }

  func whenBack(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.back.append(action) } }

  // MARK: Pauses

  func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) { listeners.add(hear) }

  func share(_ pause: SharedPause) {
    let said = PermitPause(pause)
    let isOld = state.withLock { state in
      let now = PermitPause.now()
      state.pauses = state.pauses.filter { $0.value.until > now }
      if said.until > state.pauses[said.endPoint]?.until ?? 0 { state.pauses[said.endPoint] = said }
      if state.knowsPauses == true { send(.pause(said), &state) }
      return state.knowsPauses == false
    }
    if isOld { complain("pauses") }
  }

  /// A pause of another program, or one that began before this program asked.
  private func heard(_ said: PermitPause) {
    if let pause = said.pause() { listeners.tell(pause) }
  }

  /// The first line of the server, or none of this kind: then it is of an earlier version.
  private func learn(_ verbs: [String]) {
    let isMissed = state.withLock { state in
      state.knowsPauses = verbs.contains("pause")
      guard state.knowsPauses == true else { return !state.pauses.isEmpty }
      let now = PermitPause.now()
      for pause in state.pauses.values where pause.until > now { send(.pause(pause), &state) }
      return false
    }
    if isMissed { complain("pauses") }
  }

  private func complain(_ what: String) {
    guard hasComplained.take() else { return }
    HeadgateLog.warn(
      .dispatcher,
      """
      The permit server in \(folder) is of another version, and does not know \(what): they are not shared. It ends \
      when no program uses it; the next one is of this version.
      """
    )
  }

  // MARK: Requests

  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let wait = UnixWait(demand, self, completion)
    if let problem = demand.problemOnTheWire {
      wait.end(.failure(DispatchError(.transportFailed, detail: problem)))
      return wait
    }
    let (failure, mustStart) = state.withLock { state -> (DispatchError?, Bool) in
      switch state.phase {
      case .ended: return (DispatchError(.shutDown), false)
      case .down: return (DispatchError(.coordinatorUnavailable, detail: state.failure), false)
      case .idle, .connecting, .up: break
      }
      add(wait, &state)
      defer { if state.phase == .idle { state.phase = .connecting } }
      return (nil, state.phase == .idle)
    }
    if let failure { wait.end(.failure(failure)) }
    if mustStart { start() }
    return wait
  }

  private func start() {
    do {
      let poller = try Poller()
      state.withLock { $0.poller = poller }
      _ = try WorkerThread(name: "headgate-sharing", serves: true) { [self] in run(poller) }
    } catch {
      goDown("no thread or descriptor is left", to: .idle)
    }
  }

  /// Registers a request under a new number, and sends it if there is a connection.
  private func add(_ wait: UnixWait, _ state: inout State) {
    state.lastNumber += 1
    state.waits[state.lastNumber] = wait
    wait.number.withLock { $0 = state.lastNumber }
    if state.phase == .up { ask(wait.demand, state.lastNumber, &state) }
  }

  private func ask(_ demand: SharedDemand, _ number: UInt64, _ state: inout State) {
    if state.endPoints[demand.endPoint] != demand.limits {
      state.endPoints[demand.endPoint] = demand.limits
      send(.limitEndPoint(demand.endPoint, demand.limits), &state)
    }
    for (scope, limits) in demand.scopeLimits where state.scopes[scope] != limits {
      state.scopes[scope] = limits
      send(.limitScope(scope, limits), &state)
    }
    send(.ask(number, PermitAsk(demand)), &state)
  }

  fileprivate func withdraw(_ number: UInt64) {
    state.withLock { state in
      // If it was granted at this moment, the answer finds no request and returns the permit.
      if state.waits.removeValue(forKey: number) != nil { send(.cancel(number), &state) }
    }
  }

  /// Sends a command over the connection with this number. Returns false if that has ended.
  fileprivate func send(_ command: PermitCommand, over connection: UInt64) -> Bool {
    state.withLock { state in
      guard state.phase == .up, state.connection == connection else { return false }
      send(command, &state)
      return true
    }
  }

  private func send(_ command: PermitCommand, _ state: inout State) {
    guard state.phase == .up else { return }
    state.outgoing += command.line.utf8
    state.outgoing.append(UInt8(ascii: "\n"))
    flush(&state)
  }

  /// Sends what is pending. The thread notices a broken connection when it reads.
  private func flush(_ state: inout State) {
    while !state.outgoing.isEmpty {
      guard case .bytes(let count) = StreamSocket.send(state.socket, state.outgoing[...]) else { break }
      state.outgoing.removeFirst(count)
    }
    state.poller?.modify(state.socket, state.outgoing.isEmpty ? .read : [.read, .write])
  }

  func shutDown() {
    let (waits, poller) = state.withLock { state in
      state.phase = .ended
      defer { state.waits = [:] }
      return (state.waits.values, state.poller)
    }
    poller?.wake()
    for wait in waits { wait.end(.failure(DispatchError(.shutDown))) }
  }

  // MARK: The thread

  private func run(_ poller: Poller) {
    if let remark = folder.remark { HeadgateLog.warn(.dispatcher, "\(remark)") }
    while let socket = connect(poller) {
      serve(socket, poller)
      poller.remove(socket)
      state.withLock { state in
        if state.phase == .up { state.phase = .connecting }
        state.socket = -1
      }
      StreamSocket.close(socket)
    }
  }

  private var isEnded: Bool { state.withLock { $0.phase == .ended } }

  /// Connects, and starts a server if necessary. Returns nil after the shutdown.
  private func connect(_ poller: Poller) -> Int32? {
    let begin = Deadline.now
    var pause = Duration.milliseconds(5)
    var events: [PollEvent] = []
    while !isEnded {
      var text = ""
      do throws(SystemFailure) {
        let socket = try folder.connect()
        // Before anything is sent, so that the rest is sent when there is room.
        poller.add(socket, .read)
        if adopt(socket) { return socket }
        poller.remove(socket)
        StreamSocket.close(socket)
        return nil
      } catch {
        text = error.description
      }
      do throws(SharingError) { try startServer(folder) } catch { text = error.description }
      if Deadline.now - begin > Self.patience {
        goDown(text, to: .down)
        pause = Self.interval
      }
      poller.wait(until: .after(pause), into: &events)
      pause = min(pause * 2, Self.interval)
    }
    return nil
  }

  /// Uses a new connection, and repeats the requests that still wait.
  private func adopt(_ socket: Int32) -> Bool {
    let back = state.withLock { state -> [@Sendable () -> Void]? in
      guard state.phase != .ended else { return nil }
      let hasMissed = state.hasMissed
      state.hasMissed = false
      (state.phase, state.socket, state.outgoing) = (.up, socket, [])
      state.connection += 1
      (state.endPoints, state.scopes, state.knowsPauses) = ([:], [:], nil)
      for (number, wait) in state.waits.sorted(by: { $0.key < $1.key }) { ask(wait.demand, number, &state) }
      return hasMissed ? state.back : []
    }
    guard let back else { return false }
    for action in back { action() }
    return true
  }

  private func goDown(_ text: String, to phase: Phase) {
    let waits = state.withLock { state in
      guard state.phase != .ended else { return [UInt64: UnixWait]() }
      (state.phase, state.failure, state.hasMissed) = (phase, text, true)
      defer { state.waits = [:] }
      return state.waits
    }
    for (_, wait) in waits.sorted(by: { $0.key < $1.key }) {
      wait.end(.failure(DispatchError(.coordinatorUnavailable, detail: text)))
    }
  }

  /// Reads replies until the connection ends.
  private func serve(_ socket: Int32, _ poller: Poller) {
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    var received: [UInt8] = []
    var events: [PollEvent] = []
    while !isEnded {
      switch StreamSocket.receive(socket, into: &buffer) {
      case .ended: return
      case .bytes(let count):
        received += buffer[..<count]
        while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
          if let reply = PermitReply(line: String(decoding: received[..<end], as: UTF8.self)) { obey(reply) }
          received.removeSubrange(...end)
        }
      case .blocked:
        poller.wait(until: .distantFuture, into: &events)
        if events.contains(where: \.writable) { state.withLock { flush(&$0) } }
      }
    }
  }

  private func obey(_ reply: PermitReply) {
    if state.withLock({ $0.knowsPauses }) == nil {
      if case .knows(let verbs) = reply { return learn(verbs) }
      learn([])
    }
    switch reply {
    case .pause(let said): heard(said)
    case .unknown(let verb): complain(ShownText.of(verb))
    case .granted(let number, let path, let programs): granted(number, path, programs)
    case .refused(let number, let code, let text):
      let wait = state.withLock { $0.waits.removeValue(forKey: number) }
      let isTooHeavy = code == DispatchError.Code.tooHeavy.description
      wait?.end(.failure(DispatchError(isTooHeavy ? .tooHeavy : .transportFailed, detail: text)))
    case .error(let text):
      HeadgateLog.warn(.dispatcher, "The permit server has closed the connection: \(ShownText.of(text))")
      // If the requests were repeated, every further connection might end in the same way.
      endAll(DispatchError(.transportFailed, detail: text))
    case .status, .end, .knows: break
    }
  }

  private func endAll(_ error: DispatchError) {
    let waits = state.withLock { state in
      defer { state.waits = [:] }
      return state.waits
    }
    for (_, wait) in waits.sorted(by: { $0.key < $1.key }) { wait.end(.failure(error)) }
  }

  private func granted(_ number: UInt64, _ path: String, _ programs: Int) {
    let pipe: Int32
    do throws(SystemFailure) { pipe = try PermitPipe.take(path) } catch { return missed(number, error) }
    let (wait, connection) = state.withLock { state -> (UnixWait?, UInt64) in
      state.programs = programs
      guard let wait = state.waits.removeValue(forKey: number) else { return (nil, state.connection) }
      send(.taken(number), &state)
      return (wait, state.connection)
    }
    let permit = UnixPermit(self, number, connection, pipe)
    if let wait { wait.end(.success(permit)) } else { _ = permit.decline() }
  }

  /// A permit was granted whose pipe can't be opened.
  private func missed(_ number: UInt64, _ failure: SystemFailure) {
    // If the server that granted it has gone, the request is repeated. Otherwise no descriptor is left.
    let asksAgain = failure.number == ENOENT || failure.number == ENXIO
    let wait = state.withLock { state -> UnixWait? in
      let wait = state.waits.removeValue(forKey: number)
      send(.decline(number), &state)
      if asksAgain, let wait { add(wait, &state) }
      return wait
    }
    if !asksAgain { wait?.end(.failure(DispatchError(.transportFailed, detail: failure.description))) }
  }
}

/// A request that waits for a permit of the server.
final class UnixWait: SharedPermitRequest {
  let demand: SharedDemand
  let number = LockedBox<UInt64?>(nil)
  let end: @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  private let link: UnixLink

  init(
    _ demand: SharedDemand, _ link: UnixLink,
    _ completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) {
    (self.demand, self.link) = (demand, link)
    end = completion
  }

  func cancel() {
    if let number = number.withLock({ $0 }) { link.withdraw(number) }
    end(.failure(DispatchError(.cancelled)))
  }
}

/// A permit of the server: a pipe that is open for writing.
final class UnixPermit: SharedPermit {
  private let link: UnixLink
  private let number: UInt64
  private let connection: UInt64
  private let pipe: Int32
  private let released = SingleUse()

  init(_ link: UnixLink, _ number: UInt64, _ connection: UInt64, _ pipe: Int32) {
    (self.link, self.number, self.connection, self.pipe) = (link, number, connection, pipe)
  }

  deinit { _ = release() }

  func settle(_ weights: [String: Int]) -> Bool {
    // For a negative weight, or a line that is too long, the server would close the connection, on which requests wait.
    let command = PermitCommand.settle(number, weights.mapValues { max(0, $0) })
    return command.line.utf8.count <= PermitWords.longestLine && link.send(command, over: connection)
  }

  func release() -> Bool { end(with: .release(number)) }

  func decline() -> Bool { end(with: .decline(number)) }

  private func end(with command: PermitCommand) -> Bool {
    guard released.take() else { return false }
    StreamSocket.close(pipe)
    // This message frees the permit at once. If it can't be sent, the server notices the closed pipe.
    _ = link.send(command, over: connection)
    return true
  }
}
