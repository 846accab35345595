import HeadgateTesting

/// Programs, a server and a network that loses, delays and reorders, in virtual time. Packets of connections that are
/// closed may still arrive.
struct LeaseWorld {
  private enum Command {
    case attach(sequence: Int, known: Int, run: Int, claim: Int, isStale: Bool)
    case step(LeaseServer.Tick, released: Int, wanted: Int)
  }

  private enum Answer {
    case attached(LeaseServer.Attached)
    case stepped(granted: Int)
    case lost
  }

  private struct Packet {
    let at: Int
    let program: Int
    /// The name of the program's session.
    let session: Int
    let connection: Int
    let sent: Int
    let command: Command?
    let answer: Answer?
  }

  private struct Program {
    /// A program that starts again has another name.
    var session: Int
    var pausedUntil = 0
    /// The connection, and what is under way on it.
    var connection = 0
    var sentAt: Int?
    var sequence = 0
    var known = 0
    var run = 0
    var tick: LeaseServer.Tick?
    var validUntil = 0
    var held = 0
    var released = 0
    var wanted = 0
    var nextStep = 0
  }

  private var server: LeaseServer
  private var programs: [Program]
  private var packets: [Packet] = []
  private var random: SeededRandom
  private var now = 1_000_000_000
  private var skew = 0
  private var run = 1
  private var stalledUntil = 0
  private var cutUntil: [Int]
  private var lastFault = 0
  private var lastSession: Int
  private(set) var grants = 0

  init(seed: UInt64, programs count: Int = 5, faults: LeaseServer.Faults = []) {
    random = SeededRandom(seed: seed)
    server = LeaseServer(limit: 3, lease: 1000, faults: faults)
    programs = (0..<count).map { Program(session: $0) }
    lastSession = count
    cutUntil = Array(repeating: 0, count: count)
  }

  private mutating func chance(_ parts: Int) -> Bool { Int.random(in: 0..<parts, using: &random) == 0 }
  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  /// What programs believe to hold under a valid lease. A program that is paused cannot know better.
  private var believed: Int {
    programs.reduce(0) { $0 + (now < $1.validUntil ? $1.held : 0) }
  }

  /// Lets time pass, and returns the first violation.
  mutating func run(milliseconds: Int) -> String? {
    let end = now + milliseconds
    while now < end {
      now += number(1...10)
      if now < end - 5000 { harm() }
      deliver()
      for index in programs.indices { act(index) }
      if believed > server.limit { return "\(believed) of \(server.limit) permits at \(now)" }
    }
    return nil
  }

  /// Whether permits are still granted when all faults are over.
  mutating func recovers() -> Bool {
    for index in programs.indices { (programs[index].pausedUntil, cutUntil[index]) = (0, 0) }
    stalledUntil = 0
    let before = grants
    _ = run(milliseconds: 4999)
    return grants > before + 10
  }

  private mutating func harm() {
    let index = number(0...programs.count - 1)
    if chance(100) { programs[index].pausedUntil = now + number(0...2500) }
    if chance(200) {
      lastSession += 1
      programs[index] = Program(session: lastSession, connection: programs[index].connection + 1)
    }
    if chance(100) { cutUntil[index] = now + number(0...2500) }
    if chance(600) { stalledUntil = now + number(0...2500) }
    if chance(600) { skew += number(-3_600_000...3_600_000) }
    if now - lastFault > 1500, chance(300) {
      lastFault = now
      run += 1
      if chance(2) { server.wipe() }
    }
  }

  private mutating func act(_ index: Int) {
    var program = programs[index]
    defer { programs[index] = program }
    guard now >= program.pausedUntil else { return }
    if program.held > 0, chance(20) {
      program.held -= 1
      program.released += 1
    }
    if chance(20) { program.wanted = min(4, program.wanted + 1) }
    if let sent = program.sentAt {
      guard now - sent > 300 else { return }
      // A reply is late: its outcome is not known, so the next connection declares what is really held.
      program.sentAt = nil
      program.tick = nil
      program.connection += 1
    }
    guard now >= program.nextStep else { return }
    program.nextStep = now + number(20...300)
    let command: Command
    if let tick = program.tick {
      command = .step(tick, released: program.released, wanted: program.wanted)
    } else {
      program.sequence += 1
      // The server's run is read over the same connection, before the declaration.
      program.run = run
      // Permits whose lease has ended may be others'. The server goes by its own record then.
      command = .attach(
        sequence: program.sequence, known: program.known, run: run, claim: program.held,
        isStale: now >= program.validUntil)
    }
    program.released = 0
    program.sentAt = now
    send(command, nil, index, program.session, program.connection, sent: now)
  }

  private mutating func send(
    _ command: Command?, _ answer: Answer?, _ program: Int, _ session: Int, _ connection: Int, sent: Int
  ) {
    if chance(30) { return }
    // A partition holds packets back, and so does the kernel of a closed connection.
    let isLate = chance(20)
    let at = max(now + (isLate ? number(0...1500) : number(1...20)), cutUntil[program] + number(0...20))
    packets.append(
      Packet(
        at: at, program: program, session: session, connection: connection, sent: sent, command: command,
        answer: answer))
  }

  private mutating func deliver() {
    let due = packets.filter { $0.at <= now }
    packets.removeAll { $0.at <= now }
    for packet in due {
      if let command = packet.command {
        guard now >= stalledUntil else {
          packets.append(
            Packet(
              at: stalledUntil + number(0...5), program: packet.program, session: packet.session,
              connection: packet.connection, sent: packet.sent, command: command, answer: nil))
          continue
        }
        execute(command, packet)
      } else if let answer = packet.answer {
        receive(answer, packet)
      }
    }
  }

  private mutating func execute(_ command: Command, _ packet: Packet) {
    let answer: Answer
    switch command {
    case .attach(let sequence, let known, let run, let claim, let isStale):
      // A packet for an earlier run of the server goes nowhere: its connection ended with that run.
      guard run == self.run else { return }
      guard
        let attached = server.attach(
          packet.session, sequence: sequence, known: known, run: run, claim: claim, isStale: isStale,
          at: now + skew)
      else { return }
      answer = .attached(attached)
    case .step(let tick, let released, let wanted):
      answer =
        server.step(packet.session, tick, released: released, wanted: wanted, at: now + skew)
        .map { .stepped(granted: $0) } ?? .lost
    }
    send(nil, answer, packet.program, packet.session, packet.connection, sent: packet.sent)
  }

  private mutating func receive(_ answer: Answer, _ packet: Packet) {
    var program = programs[packet.program]
    defer { programs[packet.program] = program }
    guard now >= program.pausedUntil, program.connection == packet.connection else { return }
    program.sentAt = nil
    let valid = packet.sent + server.lease - 250
    switch answer {
    case .attached(let attached):
      program.known = attached.tick.epoch
      guard program.held == 0 || now < program.validUntil || !attached.isBelieved else {
        // The lease has ended meanwhile: the claim may have come too late. It is taken back.
        program.held = 0
        program.connection += 1
        return
      }
      program.tick = attached.tick
      // What was released since the declaration was sent is counted by the server until the next step.
      program.held = min(program.held, max(0, attached.confirmed - program.released))
      program.validUntil = valid
    case .stepped(let granted):
      guard now < valid else {
        // It came too late: as if it had not come.
        program.tick = nil
        program.connection += 1
        return
      }
      program.held += granted
      program.wanted = max(0, program.wanted - granted)
      program.validUntil = valid
      grants += granted
    case .lost: program.tick = nil
    }
  }
}
