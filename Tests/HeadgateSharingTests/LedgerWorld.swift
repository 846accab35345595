import HeadgateDispatch
import HeadgateTesting

@testable import HeadgateSharing

/// Programs, pipes, a gate and a server, all played by a test: everything around a ``PermitLedger``. A fault may be
/// planted, to see that it is found.
struct LedgerWorld {
  enum Fault: CaseIterable {
    /// A permit is free as soon as its pipe is closed.
    case noWait
    /// The pipe of a returned permit stays.
    case noRemoval
    /// The server closes its own end of a pipe before the program has it.
    case earlyUnguard
    /// After the wait, nothing looks whether a program has the pipe after all.
    case noSecondLook
    /// A server does not look for the permits of the earlier one.
    case noInheritance
  }

  typealias ID = PermitLedger.PermitID

  struct Pipe {
    let ask: PermitAsk
    let limits: EndPointLimits?
    var isGuarded = true
    var hasWriter = false
    /// The server would notice that no writer is left.
    var isWatched = true
  }

  struct Session {
    let client: Int
    var commands: [PermitCommand] = []
    var isClosing = false
  }

  struct Client {
    var session: UInt64?
    var waits: [UInt64: EndPoint] = [:]
    var replies: [(number: UInt64, id: ID)] = []
    var held: [ID: (number: UInt64, session: UInt64?)] = [:]
    var lastNumber: UInt64 = 0
    var limits: [EndPoint: Int] = [:]
    var told: [EndPoint: Int] = [:]
  }

  let fault: Fault?
  let endPoints: [EndPoint]
  var random: SeededRandom
  var ledger = PermitLedger()
  var violations: [String] = []
  var seen: Set<String> = []

  var clients: [Int: Client] = [:]
  var lastClient = 0
  var sessions: [UInt64: Session] = [:]
  var pipes: [ID: Pipe] = [:]
  /// The permits that programs work under, also those that are just dying, and the limit when each was granted.
  var used: [ID: EndPoint] = [:]
  var dying: Set<ID> = []
  var limitAtGrant: [ID: Int] = [:]

  // The gate.
  var limits: [EndPoint: Int] = [:]
  var waiting: [(id: ID, endPoint: EndPoint)] = []
  var running: [ID: EndPoint] = [:]
  var known: Set<ID> = []
  var lastID: ID = 0
  var alarms: [ID] = []

  // What each session, or each inherited permit, has named.
  enum Owner: Hashable {
    case session(UInt64)
    case inherited(ID)
  }
  var named: [Owner: [EndPoint: Int]] = [:]
  var owners: [ID: Owner] = [:]
  /// The programs that are to be told of the last pause: all others that have named its end-point.
  var untold: Set<UInt64> = []
  var owner = Owner.session(0)

  init(seed: UInt64, _ fault: Fault? = nil) throws {
    self.fault = fault
    endPoints = [try EndPoint(host: "a", port: 80), try EndPoint(unixSocket: "/b c")]
    random = SeededRandom(seed: seed)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  /// One of the keys, in an order that does not depend on hashes.
  mutating func pick<Key: Comparable>(_ keys: some Sequence<Key>) -> Key? {
    let sorted = keys.sorted()
    return sorted.isEmpty ? nil : sorted[below(sorted.count)]
  }

  // MARK: Effects

  mutating func settle() {
    while true {
      let effects = ledger.takeEffects()
      for effect in effects { perform(effect) }
      if !grantNext(), effects.isEmpty { break }
    }
    check()
  }

  private mutating func grantNext() -> Bool {
    for (index, next) in waiting.enumerated() {
      guard running.values.count(where: { $0 == next.endPoint }) < limits[next.endPoint] ?? 6 else { continue }
      waiting.remove(at: index)
      running[next.id] = next.endPoint
      if !ledger.granted(next.id) { running[next.id] = nil }
      return true
    }
    return false
  }

  private mutating func perform(_ effect: PermitLedger.Effect) {
    switch effect {
    case .ask(let id, let ask):
      if !known.insert(id).inserted { violations.append("\(id) is asked for twice") }
      lastID = max(lastID, id)
      owners[id] = owner
      waiting.append((id, ask.endPoint))
    case .release(let id), .decline(let id):
      if known.remove(id) == nil { violations.append("\(id) is unknown and is released") }
      waiting.removeAll { $0.id == id }
      running[id] = nil
      owners[id] = nil
    case .limitEndPoint(let endPoint, let own): limits[endPoint] = own.requests
    case .grant(let id, let program, let number):
      guard let endPoint = running[id], pipes[id] == nil else {
        return violations.append("\(id) is granted without a request, or under a name in use")
      }
      let ask = PermitAsk(endPoint)
      pipes[id] = Pipe(ask: ask, limits: ledger.limits(of: ask).0, isGuarded: fault != .earlyUnguard)
      limitAtGrant[id] = limits[ask.endPoint] ?? 6
      if let client = sessions[program]?.client { clients[client]?.replies.append((number, id)) }
    case .unguard(let id):
      guard pipes[id]?.isGuarded == true || fault == .earlyUnguard else {
        return violations.append("\(id) has no guard")
      }
      pipes[id]?.isGuarded = false
      if pipes[id]?.hasWriter == false { hungUp(id) }
    case .remove(let id):
      if pipes[id] == nil { violations.append("\(id) has no pipe to remove") }
      if fault != .noRemoval { pipes[id] = nil }
    case .wait(let id):
      if alarms.contains(id) { violations.append("\(id) waits twice") }
      if fault == .noWait { ledger.isOver(id) } else { alarms.append(id) }
    case .refuse, .drop: violations.append("a request is refused: \(effect)")
    case .tell(let program, let pause):
      if untold.remove(program) == nil { violations.append("\(program) is told of the pause at \(pause.endPoint)") }
    case .pause(let pause):
      seen.insert("paused")
      untold = Set(
        sessions.keys.filter { owner != .session($0) && named[.session($0)]?[pause.endPoint] != nil })
    case .settle, .limitScope, .unknown: break
    }
  }

  mutating func hungUp(_ id: ID) {
    pipes[id]?.isWatched = false
    ledger.hungUp(id)
  }

  // MARK: Rules

  private mutating func check() {
    if !untold.isEmpty { violations.append("\(untold) are not told of a pause") }
    for endPoint in endPoints {
      let ids = used.filter { $0.value == endPoint }.keys
      if let last = ids.max(), let limit = limitAtGrant[last], ids.count > limit {
        violations.append("\(ids.count) permits are used, and the limit was \(limit)")
      }
      let alive = named.filter { owner, _ in
        if case .session(let program) = owner, sessions[program] != nil { return true }
        return owners.values.contains(owner)
      }
      if let strictest = alive.values.compactMap({ $0[endPoint] }).min(), limits[endPoint] != strictest {
        violations.append("the limit is \(limits[endPoint] ?? 0), and the strictest is \(strictest)")
      }
    }
  }

  // MARK: The server

  /// One command, or the end of a connection, reaches the server.
  mutating func deliver(_ program: UInt64) {
    guard var session = sessions[program] else { return }
    owner = .session(program)
    if session.commands.isEmpty {
      guard session.isClosing else { return }
      sessions[program] = nil
      ledger.disconnected(program)
    } else {
      let command = session.commands.removeFirst()
      sessions[program] = session
      if case .limitEndPoint(let endPoint, let own) = command {
        named[owner, default: [:]][endPoint] = own.requests
      }
      ledger.received(command, from: program)
    }
    settle()
  }

  mutating func ring() {
    // By then the kernel has closed everything of a program that died.
    for id in dying { used[id] = nil }
    dying = []
    guard !alarms.isEmpty else { return }
    let id = alarms.remove(at: below(alarms.count))
    if fault != .noSecondLook, pipes[id]?.hasWriter == true, ledger.takenAgain(id) {
      seen.insert("taken again")
      pipes[id]?.isWatched = true
    } else {
      ledger.isOver(id)
    }
    settle()
  }

  /// The server is killed, and another one starts.
  mutating func replace() {
    seen.insert("replaced")
    sessions = [:]
    for id in clients.keys {
      clients[id]?.session = nil
      clients[id]?.told = [:]
      for permit in (clients[id]?.held ?? [:]).keys { clients[id]?.held[permit]?.session = nil }
    }
    (limits, waiting, running, known, alarms, named, owners) = ([:], [], [:], [], [], [:], [:])
    ledger = PermitLedger(after: lastID)
    if fault == .noInheritance { pipes = [:] }
    for (id, pipe) in pipes.sorted(by: { $0.key < $1.key }) {
      pipes[id]?.isGuarded = false
      pipes[id]?.isWatched = true
      owner = .inherited(id)
      named[owner] = pipe.limits.map { [pipe.ask.endPoint: $0.requests] }
      seen.insert("inherited")
      ledger.inherited(id, pipe.ask, limits: pipe.limits, [:])
      settle()
    }
  }
}
