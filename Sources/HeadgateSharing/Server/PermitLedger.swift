// Decides what happens to permits that programs of this machine share: the pure half of the permit server. Events go in
// as mutating calls, and effects come out. It contains no socket, pipe or clock. Which request is next is decided by an
// `EndPointGate`, which the driver asks.
//
//     asked ──▶ guarded ──▶ held ──▶ ending ──▶ gone
//
// | stage   | the permit                                                                    |
// |---------|-------------------------------------------------------------------------------|
// | asked   | waits at the gate                                                             |
// | guarded | is granted; the server keeps the pipe open until the program has it           |
// | held    | belongs to the processes that have the pipe open                              |
// | ending  | its pipe was closed without a `release`: its connection may still be closing  |

import HeadgateGate
import HeadgateThreads

/// The permits of all programs at a server.
struct PermitLedger {
  typealias Program = UInt64
  typealias PermitID = UInt64

  /// What the driver does, in this order.
  enum Effect: Hashable, Sendable {
    /// Asks the gate for a permit.
    case ask(PermitID, PermitAsk)
    /// Withdraws the request from the gate, or returns its permit.
    case release(PermitID)
    /// Returns a permit to the gate that was not used.
    case decline(PermitID)
    case settle(PermitID, [String: Int])
    /// Applies limits at the gate.
    case limitEndPoint(EndPoint, EndPointLimits)
    case limitScope(RequestScope, ScopeLimits)
    /// Creates the permit's pipe and tells the program. If that fails, `failed` follows.
    case grant(PermitID, Program, number: UInt64)
    case refuse(Program, number: UInt64, code: String, String)
    /// Closes the server's own writing end of the pipe.
    case unguard(PermitID)
    /// Removes the pipe.
    case remove(PermitID)
    /// Calls `isOver` after a while.
    case wait(PermitID)
    /// Pauses an end-point at the gate.
    case pause(PermitPause)
    /// Tells the program that an end-point is paused.
    case tell(Program, PermitPause)
    /// Tells the program that it has sent a verb of another version.
    case unknown(Program, String)
    /// Tells the program what it did wrong, and closes its connection.
    case drop(Program, String)
  }

  enum Stage: Hashable, Sendable {
    case asked
    case guarded
    case held
    case ending
  }

  private struct Permit {
    let ask: PermitAsk
    var stage: Stage
    /// Whose limits it keeps in force: its program, or a number of its own for a permit of an earlier server.
    let program: Program
    /// The program's number for it. Nil if it was inherited.
    let number: UInt64?
  }

  private struct Connection {
    var isOpen = true
    /// Its permits by its own numbers.
    var permits: [UInt64: PermitID] = [:]
    /// Permits that have ended, and whose weights it may still correct.
    var weighed = RecentTable<UInt64, PermitID>()
    /// The number of permits that keep its limits in force.
    var count = 0
  }

  private var permits: [PermitID: Permit] = [:]
  private var programs: [Program: Connection] = [:]
  private var limits = SharedLimits()
  private var lastPermit: PermitID
  private var lastProgram: Program = 0
  private var effects: [Effect] = []

  /// The most permits that one connection may ask for at a time.
  static let mostOfAProgram = 10_000

  /// - Parameter after: The last number in use, so that those of an earlier server are not used again.
  init(after last: PermitID = 0) { lastPermit = last }

  /// The effects since the last call.
  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// The number of permits, waiting ones included.
  var count: Int { permits.count }
  /// The number of connected programs.
  var connectedCount: Int { programs.values.count { $0.isOpen } }
  /// The number of permits that are granted and not returned, at an end-point.
  func held(at endPoint: EndPoint) -> Int {
    permits.values.count { $0.ask.endPoint == endPoint && $0.stage != .asked }
  }

  /// The permits that wait, or those that are held, by number.
  func permits(areWaiting: Bool) -> [(id: PermitID, endPoint: EndPoint, program: Program)] {
    permits.filter { ($0.value.stage == .asked) == areWaiting }.sorted { $0.key < $1.key }
      .map { ($0.key, $0.value.ask.endPoint, $0.value.program) }
  }

  // MARK: Programs

  /// A program has connected.
  mutating func connected() -> Program {
    lastProgram += 1
    programs[lastProgram] = Connection()
    return lastProgram
  }

  /// A connection is closed. Requests that wait are withdrawn. Permits stay with the processes that have their pipes open.
  mutating func disconnected(_ program: Program) {
    guard let connection = programs[program], connection.isOpen else { return }
    programs[program]?.isOpen = false
    programs[program]?.permits = [:]
    programs[program]?.weighed = RecentTable()
    for id in connection.permits.values.sorted() {
      switch permits[id]?.stage {
      case .asked: end(id)
      case .guarded: unguard(id)
      case .held, .ending, nil: break
      }
    }
    leaveIfUnused(program)
  }

  /// A program has sent a command.
  mutating func received(_ command: PermitCommand, from program: Program) {
    guard programs[program]?.isOpen == true else { return }
    switch command {
    case .limitEndPoint(let endPoint, let own):
      if let limits = limits.endPoints.set(own, for: endPoint, by: program) {
        effects.append(.limitEndPoint(endPoint, limits))
      }
    case .limitScope(let scope, let own):
      if let limits = limits.scopes.set(own, for: scope, by: program) { effects.append(.limitScope(scope, limits)) }
    case .ask(let number, let ask): asked(number, ask, by: program)
    case .taken(let number):
      if let id = permit(number, of: program), permits[id]?.stage == .guarded { unguard(id) }
    case .cancel(let number):
      if let id = permit(number, of: program), permits[id]?.stage == .asked { end(id) }
    case .decline(let number):
      if let id = permit(number, of: program), permits[id]?.stage != .asked { end(id, isUsed: false) }
    case .release(let number):
      if let id = permit(number, of: program), permits[id]?.stage != .asked { end(id) }
    case .settle(let number, let weights):
      if let id = permit(number, of: program) ?? programs[program]?.weighed.remove(number) {
        effects.append(.settle(id, weights))
      }
    case .pause(let pause):
      effects.append(.pause(pause))
      for other in limits.endPoints.programs(naming: pause.endPoint).sorted()
      where other != program && programs[other]?.isOpen == true {
        effects.append(.tell(other, pause))
      }
    case .unknown(let verb): effects.append(.unknown(program, verb))
    case .status, .state: break
    }
  }

  private func permit(_ number: UInt64, of program: Program) -> PermitID? { programs[program]?.permits[number] }

  private mutating func asked(_ number: UInt64, _ ask: PermitAsk, by program: Program) {
    guard let connection = programs[program] else { return }
    guard connection.permits[number] == nil else {
      return effects.append(.drop(program, "the number \(number) is in use; give each permit a number of its own"))
    }
    guard connection.permits.count < Self.mostOfAProgram else {
      let text = "more than \(Self.mostOfAProgram) permits requested at a time"
      let code = DispatchError.Code.transportFailed.description
      return effects.append(.refuse(program, number: number, code: code, text))
    }
    lastPermit += 1
    let id = lastPermit
    add(Permit(ask: ask, stage: .asked, program: program, number: number), as: id)
    programs[program]?.permits[number] = id
    effects.append(.ask(id, ask))
  }

  private mutating func add(_ permit: Permit, as id: PermitID) {
    permits[id] = permit
    programs[permit.program]?.count += 1
  }

  // MARK: The gate

  /// The gate has granted a permit. Returns false if it is not wanted any more: the driver returns it.
  mutating func granted(_ id: PermitID) -> Bool {
    guard let permit = permits[id] else { return false }
    // An inherited permit is held already. The gate counts it from now on.
    guard permit.stage == .asked, let number = permit.number else { return true }
    permits[id]?.stage = .guarded
    effects.append(.grant(id, permit.program, number: number))
    return true
  }

  /// The gate will never grant it, or its pipe could not be created. Then it counts as no start, and as no answer after
  /// a pause.
  mutating func failed(_ id: PermitID, code: String, _ text: String) {
    guard let permit = permits[id] else { return }
    if let number = permit.number { effects.append(.refuse(permit.program, number: number, code: code, text)) }
    end(id, isUsed: false)
  }

  // MARK: Pipes

  /// The program has the pipe, or has gone. The server's own end is closed, and from then on the pipe alone shows
  /// whether the permit is held.
  private mutating func unguard(_ id: PermitID) {
    permits[id]?.stage = .held
    effects.append(.unguard(id))
  }

  /// No program has the pipe open any more.
  mutating func hungUp(_ id: PermitID) {
    guard permits[id]?.stage == .held else { return }
    // The kernel closes a dead program's descriptors one after another: its connection to the end-point may be closed
    // after the pipe.
    permits[id]?.stage = .ending
    effects.append(.wait(id))
  }

  /// A program has opened the pipe after all, during the wait after the hang-up. Returns false if that wait is over.
  mutating func takenAgain(_ id: PermitID) -> Bool {
    guard permits[id]?.stage == .ending else { return false }
    permits[id]?.stage = .held
    return true
  }

  /// The wait after a hang-up is over.
  mutating func isOver(_ id: PermitID) {
    if permits[id]?.stage == .ending { end(id) }
  }

  /// A permit of an earlier server, whose pipe a program may still have open. It is requested from the gate like a new
  /// one, but before all new ones, and its program is not told. Its number must not be above the last one. It is
  /// requested without its weights: the earlier server has charged them, and a budget that has become smaller must not
  /// refuse a permit that is held.
  mutating func inherited(
    _ id: PermitID, _ ask: PermitAsk, limits own: EndPointLimits?, _ scopes: [RequestScope: ScopeLimits]
  ) {
    var ask = ask
    ask.weights = [:]
    let program = connected()
    programs[program]?.isOpen = false
    received(limits: own, scopes, of: ask.endPoint, by: program)
    add(Permit(ask: ask, stage: .held, program: program, number: nil), as: id)
    effects.append(.ask(id, ask))
  }

  private mutating func received(
    limits own: EndPointLimits?, _ scopes: [RequestScope: ScopeLimits], of endPoint: EndPoint, by program: Program
  ) {
    if let own, let limits = limits.endPoints.set(own, for: endPoint, by: program) {
      effects.append(.limitEndPoint(endPoint, limits))
    }
    for (scope, own) in scopes.sorted(by: { $0.key.description < $1.key.description }) {
      if let limits = limits.scopes.set(own, for: scope, by: program) { effects.append(.limitScope(scope, limits)) }
    }
  }

  /// The limits in force for a permit, for the record that a later server reads.
  func limits(of ask: PermitAsk) -> (EndPointLimits?, [RequestScope: ScopeLimits]) {
    var own: [RequestScope: ScopeLimits] = [:]
    for scope in ask.scopes { own[scope] = limits.scopes.limits(of: scope) }
    return (limits.endPoints.limits(of: ask.endPoint), own)
  }

  // MARK: Ends

  private mutating func end(_ id: PermitID, isUsed: Bool = true) {
    guard let permit = permits.removeValue(forKey: id) else { return }
    effects.append(isUsed ? .release(id) : .decline(id))
    if permit.stage != .asked { effects.append(.remove(id)) }
    if let number = permit.number, programs[permit.program]?.permits.removeValue(forKey: number) != nil,
      permit.stage != .asked, !permit.ask.weights.isEmpty
    {
      programs[permit.program]?.weighed.insert(id, for: number)
    }
    programs[permit.program]?.count -= 1
    leaveIfUnused(permit.program)
  }

  /// A program that has gone, and whose last permit has ended, no longer limits the others.
  private mutating func leaveIfUnused(_ program: Program) {
    guard let connection = programs[program], !connection.isOpen, connection.count == 0 else { return }
    programs[program] = nil
    // If no program is left, the limits and the history of rates stay as they are, until the next program declares its
    // own limits.
    for endPoint in limits.endPoints.leave(program).sorted(by: { $0.description < $1.description }) {
      if let limits = limits.endPoints.limits(of: endPoint) { effects.append(.limitEndPoint(endPoint, limits)) }
    }
    for scope in limits.scopes.leave(program).sorted(by: { $0.description < $1.description }) {
      if let limits = limits.scopes.limits(of: scope) { effects.append(.limitScope(scope, limits)) }
    }
  }
}
