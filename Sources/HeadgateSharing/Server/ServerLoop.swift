import HeadgateGate
import HeadgateLibC
import HeadgateThreads
import Logging

/// The permit server's thread: waits for connections, pipes and the gate, and performs what the ledger decides.
/// Everything here is used only on that thread.
final class ServerLoop {
  /// How long the permit of a dead program is not granted again. By then the program's other descriptors are closed
  /// too, since the kernel closes all of them in one go.
  private static let pauseAfterDeath = Duration.milliseconds(20)
  /// How long an inherited pipe without a writer is kept: the program that was granted it may be about to open it.
  private static let pauseForTaking = Duration.seconds(1)
  /// How long no connection is accepted after the descriptors ran out, and grants that lack some are not tried again.
  /// The socket stays ready meanwhile.
  private static let pauseWithoutDescriptors = Duration.milliseconds(20)

  private enum Alarm {
    case isOver(PermitLedger.PermitID)
    case check(PermitLedger.PermitID)
    case tryAgain
  }

  /// A grant that waits for descriptors.
  private struct Postponed {
    let id: PermitLedger.PermitID
    let program: PermitLedger.Program
    let number: UInt64
  }

  private let shared: ServerShared
  private let folder: PermitFolder
  private let linger: Duration
  private let lock: Int32
  private let kept: [Int32]
  private let listener: Int32
  private let earlier: EarlierPermits
  private let gate: EndPointGate

  private var ledger: PermitLedger
  private var connections: [Int32: ServerConnection] = [:]
  private var descriptors: [PermitLedger.Program: Int32] = [:]
  private var requests: [PermitLedger.PermitID: PermitRequest] = [:]
  private var granted: [PermitLedger.PermitID: Permit] = [:]
  private var recent = RecentTable<PermitLedger.PermitID, Permit>()
  private var asks: [PermitLedger.PermitID: (ask: PermitAsk, since: Int64)] = [:]
  private var pipes: [PermitLedger.PermitID: PermitPipe] = [:]
  private var readers: [Int32: PermitLedger.PermitID] = [:]
  private var postponed: [Postponed] = []
  private var isShort = false
  private var alarms: [(at: Deadline, alarm: Alarm)] = []
  private var buffer = [UInt8](repeating: 0, count: 16 * 1024)
  private var memory = Duration.zero
  private var unusedSince: Deadline?

  init(
    _ shared: ServerShared, _ folder: PermitFolder, _ linger: Duration, _ state: GateState?, lock: Int32,
    listener: Int32, after earlier: EarlierPermits
  ) {
    (self.shared, self.folder, self.linger, self.lock, self.listener) = (shared, folder, linger, lock, listener)
    self.earlier = earlier
    kept = folder.keep()
    gate = EndPointGate(
      .coordinating, TimerThread.requests, Logger(label: "headgate.permits") { _ in SwiftLogNoOpLogHandler() },
      isCoordinated: true, memory: state)
    ledger = PermitLedger(after: max(earlier.lastNumber, Self.microseconds))
  }

  /// The time of day. The first number of a server is one that no earlier server has used: a program that was stopped may
  /// still know the name of a pipe of any earlier server, and must not find another program's permit under that name.
  private static var microseconds: UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return UInt64(max(0, now.tv_sec)) * 1_000_000 + UInt64(now.tv_nsec / 1000)
  }

  /// Serves until it is stopped, or unused for long enough.
  func run() {
    inherit()
    shared.poller.add(listener, .read)
    var events: [PollEvent] = []
    var isStopped = false
    while !isStopped {
      settle()
      if let end = end, end <= .now { break }
      shared.poller.wait(until: min(end ?? .distantFuture, alarms.map(\.at).min() ?? .distantFuture), into: &events)
      for event in events where event.descriptor != listener { serve(event) }
      for event in events where event.descriptor == listener { accept() }
      ring()
      isStopped = receiveMessages()
    }
    close()
  }

  /// When the server ends if nothing happens. Nil while it is used.
  private var end: Deadline? { unusedSince.map { $0 + max(linger, min(memory, .seconds(3600))) } }

  /// Performs effects until there are none, and notes whether the server is used.
  private func settle() {
    while true {
      let effects = ledger.takeEffects()
      for effect in effects { perform(effect) }
      if receiveMessages() { shared.post(.stop) }
      if effects.isEmpty { break }
    }
    if ledger.count > 0 || !connections.isEmpty { unusedSince = nil } else { unusedSince = unusedSince ?? .now }
  }

  /// Returns whether the server must stop.
  private func receiveMessages() -> Bool {
    var isStopped = false
    for message in shared.takeMessages() {
      switch message {
      case .answer(let id, .success(let permit)):
        requests[id] = nil
        granted[id] = permit
        if !ledger.granted(id) { release(id) }
      case .answer(let id, .failure(let error)):
        requests[id] = nil
        ledger.failed(id, code: error.codeName, error.description)
      case .stop: isStopped = true
      }
    }
    return isStopped
  }

  private func serve(_ event: PollEvent) {
    if let id = readers[event.descriptor] {
      if let pipe = pipes[id], !pipe.hasWriter { hungUp(id, pipe) }
      return
    }
    guard var connection = connections[event.descriptor] else { return }
    if event.writable, !connection.flush() { return disconnect(connection) }
    connections[event.descriptor] = connection
    guard event.readable || event.closed else { return watch(connection) }
    switch connection.read(into: &buffer) {
    case .ended: return disconnect(connection)
    case .tooLong: drop(connection.program, "a line is longer than \(PermitWords.longestLine) bytes")
    case .lines(let lines):
      connections[event.descriptor] = connection
      for line in lines where connections[event.descriptor]?.isEnding == false {
        received(line, from: connection.program)
      }
    }
  }

  private func received(_ line: String, from program: PermitLedger.Program) {
    do throws(PermitProtocolError) {
      let command = try PermitCommand(line: line)
      if command == .status || command == .state { return tell(to: program, inWords: command == .state) }
      ledger.received(command, from: program)
      settle()
      // The program lets its requests wait, or end, as its own patience says.
      if case .ask(_, let ask) = command, let pause = gate.pause(at: ask.endPoint) {
        send(.pause(PermitPause(pause)), to: program)
      }
    } catch {
      drop(program, error.text)
    }
  }

  private func tell(to program: PermitLedger.Program, inWords: Bool) {
    let snapshot = gate.snapshot()
    var state = PermitState(snapshot, programs: ledger.connectedCount - 1)
    var lines = [
      "programs connected: \(state.programs), permits held: \(state.held), waiting: \(state.waiting)"
    ]
    if inWords {
      state.holders = ledger.permits(areWaiting: false).map { .init(permit: $0.id, place: "\($0.endPoint)") }
      state.waiters = ledger.permits(areWaiting: true).map { id, endPoint, program in
        let process = descriptors[program].flatMap { connections[$0]?.process } ?? 0
        return .init(process: process, place: "\(endPoint)", since: asks[id]?.since ?? 0)
      }
      lines = state.lines
    } else {
      // Without the first line, which has the total limit that a coordinator does not have.
      lines += snapshot.description.split(separator: "\n").dropFirst().map { String($0) }
    }
    for line in lines { send(.status(line), to: program) }
    send(.end, to: program)
  }

  // MARK: Connections

  private func accept() {
    do throws(SystemFailure) {
      while true {
        guard hasRoom else { return runShort() }
        guard let descriptor = try LocalSocket.accept(listener) else { return }
        let program = ledger.connected()
        connections[descriptor] = ServerConnection(descriptor, program)
        descriptors[program] = descriptor
        shared.poller.add(descriptor, .read)
        send(.knows(["pause"]), to: program)
      }
    } catch {
      runShort()
    }
  }

  /// Whether descriptors are left for another connection, and for grants afterwards. Each program that waits takes one,
  /// and a grant takes two more for a moment: if programs that wait had all of them, none would ever get its permit.
  private var hasRoom: Bool {
    let next = fcntl(lock, F_DUPFD_CLOEXEC, 0)
    guard next >= 0 else { return false }
    defer { platformClose(next) }
    return OpenFiles.leavesEnough(next)
  }

  /// Too few descriptors are left: programs wait until some are free.
  private func runShort() {
    guard !isShort else { return }
    isShort = true
    shared.poller.remove(listener)
    alarms.append((.after(Self.pauseWithoutDescriptors), .tryAgain))
  }

  private func tryAgain() {
    isShort = false
    let waiting = postponed
    postponed = []
    for grant in waiting { self.grant(grant) }
    if !isShort { shared.poller.add(listener, .read) }
  }

  private func send(_ reply: PermitReply, to program: PermitLedger.Program) {
    guard let descriptor = descriptors[program], var connection = connections[descriptor] else { return }
    let goesOn = connection.send(reply.line)
    connections[descriptor] = connection
    if goesOn { watch(connection) } else { disconnect(connection) }
  }

  private func drop(_ program: PermitLedger.Program, _ text: String) {
    guard let descriptor = descriptors[program], connections[descriptor]?.isEnding == false else { return }
    connections[descriptor]?.end()
    send(.error(text), to: program)
  }

  private func watch(_ connection: ServerConnection) {
    shared.poller.modify(connection.descriptor, connection.isBlocked ? [.read, .write] : .read)
  }

  private func disconnect(_ connection: ServerConnection) {
    guard connections.removeValue(forKey: connection.descriptor) != nil else { return }
    descriptors[connection.program] = nil
    shared.poller.remove(connection.descriptor)
    StreamSocket.close(connection.descriptor)
    ledger.disconnected(connection.program)
  }

  // MARK: Effects

  private func perform(_ effect: PermitLedger.Effect) {
    switch effect {
    case .ask(let id, let ask):
      asks[id] = (ask, Int64(clamping: Self.microseconds / 1000))
      requests[id] = gate.requestPermit(
        for: ask.endPoint, lane: ask.lane, scopes: ask.scopes, weights: ask.weights
      ) { [shared] in shared.post(.answer(id, $0)) }
    case .release(let id):
      asks[id] = nil
      requests.removeValue(forKey: id)?.cancel()
      release(id)
    case .decline(let id):
      asks[id] = nil
      granted.removeValue(forKey: id)?.decline()
    case .pause(let said):
      guard let pause = said.pause() else { break }
      memory = max(memory, pause.left)
      gate.hear(pause)
      gate.remember(pause)
    case .tell(let program, let pause): send(.pause(pause), to: program)
    case .unknown(let program, let verb): send(.unknown(ShownText.of(verb, atMost: 100)), to: program)
    case .settle(let id, let weights): (granted[id] ?? recent.remove(id))?.settle(weights)
    case .limitEndPoint(let endPoint, let limits):
      memory = max(memory, limits.memory)
      gate.setLimits(limits, for: endPoint)
    case .limitScope(let scope, let limits):
      memory = max(memory, limits.memory)
      gate.updateLimits { $0.scopes[scope] = limits }
    case .grant(let id, let program, let number): grant(Postponed(id: id, program: program, number: number))
    case .refuse(let program, let number, let code, let text):
      send(.refused(number, code: code, text), to: program)
    case .unguard(let id):
      // The program has gone before there was a pipe.
      guard pipes[id] != nil else { return ledger.failed(id, code: DispatchError.Code.cancelled.description, "") }
      pipes[id]?.unguard()
      if let pipe = pipes[id], !pipe.hasWriter { hungUp(id, pipe) }
    case .remove(let id): remove(id)
    case .wait(let id): alarms.append((.after(Self.pauseAfterDeath), .isOver(id)))
    case .drop(let program, let text): drop(program, text)
    }
  }

  private func release(_ id: PermitLedger.PermitID) {
    guard let permit = granted.removeValue(forKey: id) else { return }
    permit.release()
    recent.insert(permit, for: id)
  }

  private func grant(_ grant: Postponed) {
    let id = grant.id
    // It may have ended while it waited for descriptors.
    guard let ask = asks[id]?.ask else { return }
    guard postponed.isEmpty else { return postponed.append(grant) }
    do throws(SystemFailure) {
      // The record first: a later server reads it when it finds the pipe.
      try PermitRecord(ask, ledger.limits(of: ask)).write(to: folder.record(id))
      let pipe = try PermitPipe.create(at: folder.pipe(id))
      pipes[id] = pipe
      watch(id, pipe)
    } catch {
      unlink(folder.record(id))
      guard error.number != EMFILE, error.number != ENFILE else {
        postponed.append(grant)
        return runShort()
      }
      return ledger.failed(id, code: DispatchError.Code.transportFailed.description, error.description)
    }
    send(.granted(grant.number, pipe: folder.pipe(id), programs: ledger.connectedCount), to: grant.program)
  }

  // MARK: Pipes

  private func watch(_ id: PermitLedger.PermitID, _ pipe: PermitPipe) {
    readers[pipe.reader] = id
    shared.poller.add(pipe.reader, .read)
  }

  private func hungUp(_ id: PermitLedger.PermitID, _ pipe: PermitPipe) {
    // The pipe stays ready, and would cause events until it is removed from the poller.
    shared.poller.remove(pipe.reader)
    ledger.hungUp(id)
  }

  private func remove(_ id: PermitLedger.PermitID) {
    guard var pipe = pipes.removeValue(forKey: id) else { return }
    readers[pipe.reader] = nil
    shared.poller.remove(pipe.reader)
    pipe.closeAll()
    unlink(folder.pipe(id))
    unlink(folder.record(id))
  }

  /// Counts the permits that earlier servers have granted. They are held whatever the limits are, which therefore apply
  /// only afterwards: if a rate or a scope delayed one of them, it would not count in its end-point and its other scopes.
  private func inherit() {
    for item in earlier.items {
      let (id, record, pipe) = (item.id, item.record, item.pipe)
      pipes[id] = pipe
      watch(id, pipe)
      ledger.inherited(id, record.ask, limits: record.limits, record.scopes)
      if !pipe.hasWriter { alarms.append((.after(Self.pauseForTaking), .check(id))) }
    }
    gate.setLimits(.inheriting)
    var limits: [PermitLedger.Effect] = []
    for effect in ledger.takeEffects() {
      if case .ask = effect { perform(effect) } else { limits.append(effect) }
    }
    gate.setLimits(.coordinating)
    for effect in limits { perform(effect) }
    // While they were counted, nothing was to hold them back.
    for endPoint in Set(earlier.items.map(\.record.ask.endPoint)) { gate.recallAgain(endPoint) }
  }

  private func ring() {
    guard !alarms.isEmpty else { return }
    let now = Deadline.now
    let due = alarms.filter { $0.at <= now }
    alarms.removeAll { $0.at <= now }
    for (_, alarm) in due {
      switch alarm {
      case .isOver(let id): if !isTakenAgain(id) { ledger.isOver(id) }
      case .check(let id):
        if let pipe = pipes[id], !pipe.hasWriter { hungUp(id, pipe) }
      case .tryAgain: tryAgain()
      }
    }
  }

  /// Whether a slow program has opened the pipe of its permit after the pipe seemed to be abandoned. If none has, no
  /// program can open it any more.
  private func isTakenAgain(_ id: PermitLedger.PermitID) -> Bool {
    guard let pipe = pipes[id] else { return false }
    rename(folder.pipe(id), folder.ending(id))
    guard pipe.hasWriter, ledger.takenAgain(id) else {
      unlink(folder.ending(id))
      return false
    }
    rename(folder.ending(id), folder.pipe(id))
    watch(id, pipe)
    return true
  }

  private func close() {
    // The socket first, so that no program connects to a server that does not answer.
    unlink(folder.socket)
    StreamSocket.close(listener)
    for descriptor in connections.keys { StreamSocket.close(descriptor) }
    for id in pipes.keys { pipes[id]?.closeAll() }
    for request in requests.values { request.cancel() }
    for permit in granted.values { permit.release() }
    _ = shared.takeMessages()
    for folder in kept { platformClose(folder) }
    platformClose(lock)
  }
}

private func platformClose(_ descriptor: Int32) { _ = close(descriptor) }
