import HeadgateTesting
import Testing

@testable import HeadgateCurl

/// The line for an end-point's sockets, without sockets.
@Suite struct SocketLineTests {
  private func takeAll(_ line: inout SocketLine<Int, Int>) -> [Int] {
    var taken: [Int] = []
    while let member = line.next() { taken.append(member) }
    return taken
  }

  @Test(
    "D88 the first request with HTTP/2 proceeds, others wait for its handshake; one with its own socket does not"
  )
  func probe() {
    var line = SocketLine<Int, Int>()
    #expect(line.arrive(1, offers: true, on: 0) == true)
    #expect(line.arrive(2, offers: true, on: 0) == false)
    #expect(line.arrive(3, offers: true, on: 0) == false)
    #expect(line.arrive(4, offers: false, on: 0) == true)
    #expect(takeAll(&line) == [])
    #expect(line.mayOpen(1, offers: true, hasRoom: true) == true)
    line.connected(1)
    #expect(takeAll(&line) == [2, 3])
    #expect(line.arrive(5, offers: true, on: 0) == true)
  }

  @Test("a request with a reserved socket precedes the others, which keep their order")
  func promoted() {
    var line = SocketLine<Int, Int>()
    #expect(line.arrive(1, offers: false, on: 0) == true)
    #expect(line.mayOpen(1, offers: false, hasRoom: false) == false)
    line.refused(1, offers: false, on: 0, hasWaited: false)
    for member in 2...3 { #expect(line.arrive(member, offers: false, on: member) == false) }
    #expect(takeAll(&line) == [])
    let (isThere, isElsewhere) = (line.promote(3), line.promote(9))
    #expect(isThere && !isElsewhere)
    #expect(takeAll(&line) == [3])
    #expect(line.isTrying && line.contains(2) && !line.contains(3))
    line.connected(3)
    #expect(takeAll(&line) == [1])
    line.connected(1)
    #expect(takeAll(&line) == [2])
  }

  @Test("a reserved socket is of no use to a request that must wait for another's connection, until that ends")
  func promotedInVain() {
    var line = SocketLine<Int, Int>()
    line.learned(http2: true)
    #expect(line.arrive(1, offers: true, on: 0) && line.mayOpen(1, offers: true, hasRoom: true))
    #expect(line.arrive(2, offers: true, on: 0) && !line.mayOpen(2, offers: true, hasRoom: true))
    line.refused(2, offers: true, on: 0, hasWaited: false)
    // It would be refused again at once, without end.
    let isEarly = line.promote(0)
    #expect(!isEarly && takeAll(&line) == [])
    line.connected(1)
    let isNext = line.promote(0)
    #expect(isNext && takeAll(&line) == [2])
  }

  @Test("a first one that is cancelled hands its role on; one that fails releases all others")
  func probeEnds() {
    var line = SocketLine<Int, Int>()
    for member in 1...4 { _ = line.arrive(member, offers: true, on: 0) }
    line.ended(1, hasFailed: false)
    #expect(takeAll(&line) == [2])
    line.ended(2, hasFailed: true)
    #expect(takeAll(&line) == [3, 4])
  }

  @Test("with HTTP/1.1 none waits for another's handshake; the latest knowledge counts")
  func learned() {
    var line = SocketLine<Int, Int>()
    _ = line.arrive(1, offers: true, on: 0)
    line.connected(1)
    line.learned(http2: true)
    line.learned(http2: false)
    for member in 2...4 {
      #expect(line.arrive(member, offers: true, on: 0) == true)
      #expect(line.mayOpen(member, offers: true, hasRoom: true) == true)
    }
    #expect(line.speech == .http1)
  }

  @Test(
    "with HTTP/2 one connection is made at a time; a refused request waits in front, and tries again on a change"
  )
  func refusal() {
    var line = SocketLine<Int, Int>()
    _ = line.arrive(1, offers: true, on: 0)
    line.connected(1)
    line.learned(http2: true)
    #expect(line.arrive(2, offers: true, on: 0) == true)
    #expect(line.mayOpen(2, offers: true, hasRoom: true) == true)
    #expect(line.arrive(3, offers: true, on: 0) == true)
    #expect(line.mayOpen(3, offers: true, hasRoom: true) == false)
    line.refused(3, offers: true, on: 0, hasWaited: false)
    #expect(line.arrive(4, offers: false, on: 0) == false)
    #expect(takeAll(&line) == [])
    line.connected(2)
    #expect(takeAll(&line) == [3])
    // Until it has its connection or has failed, no other one is tried.
    line.socketsChanged()
    #expect(takeAll(&line) == [])
    #expect(line.mayOpen(3, offers: true, hasRoom: false) == false)
    line.refused(3, offers: true, on: 0, hasWaited: true)
    #expect(takeAll(&line) == [])
    line.socketsChanged()
    #expect(takeAll(&line) == [3])
    line.connected(3)
    #expect(takeAll(&line) == [4])
    line.ended(4, hasFailed: false)
    #expect(line.arrive(5, offers: false, on: 0) == true)
  }

  @Test(
    "a hundred thousand random events: never more sockets than allowed, and none is left in the line",
    arguments: 0..<50)
  func random(seed: UInt64) {
    var exerciser = SocketLineExerciser(seed: seed)
    if let broken = exerciser.play(2_000) { Issue.record("seed \(seed): \(broken)") }
    #expect(exerciser.served > 200)
  }
}

/// Plays an end-point with its sockets, as libcurl uses them, against the line.
private struct SocketLineExerciser {
  private struct Connection {
    var shares: Bool
    var isHTTP2: Bool
    var isUp = false
    var users: Set<Int> = []
  }

  private enum Stand { case waiting, dialling(Int), using(Int), refused }

  private(set) var served = 0
  private var random: SeededRandom
  private var line = SocketLine<Int, Int>()
  private var limit: Int
  private var streams: Int
  private var isHTTP2: Bool
  private var connections: [Int: Connection] = [:]
  private var stands: [Int: Stand] = [:]
  private var offers: [Int: Bool] = [:]
  private var hasWaited: Set<Int> = []
  private var nextNumber = 0

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    limit = Int.random(in: 1...4, using: &random)
    streams = Int.random(in: 1...5, using: &random)
    isHTTP2 = seed % 3 != 0
  }

  mutating func play(_ count: Int) -> String? {
    for _ in 0..<count {
      if let broken = step(Int.random(in: 0..<100, using: &random)) { return broken }
    }
    // No more arrive, and running ones end, so the line empties.
    for _ in 0..<100_000 where !stands.isEmpty {
      if let broken = step(Int.random(in: 45..<97, using: &random)) { return broken }
      if stands.allSatisfy({ if case .waiting = $0.value { true } else { false } }), !stands.isEmpty {
        return "\(stands.count) wait and nobody runs"
      }
    }
    return stands.isEmpty && line.isEmpty ? nil : "\(stands.count) are left"
  }

  private mutating func step(_ event: Int) -> String? {
    switch event {
    case 0..<45 where stands.count < 40: arrive()
    case 45..<97: advance()
    case 97..<98: isHTTP2.toggle()
    case 98..<99: streams = Int.random(in: 1...5, using: &random)
    default: closeIdle()
    }
    // The gate keeps the room that is left for one that waits.
    let isReserved = Bool.random(using: &random)
    var starts = 0
    while let member = next(isReserved) {
      start(member)
      if case .refused = stands[member] { returned(member) }
      starts += 1
      if starts > 1_000 { return "requests are started and refused without end" }
    }
    if connections.count > limit { return "\(connections.count) sockets of \(limit)" }
    return nil
  }

  private mutating func next(_ isReserved: Bool) -> Int? {
    if isReserved, connections.count < limit { _ = line.promote(0) }
    return line.next()
  }

  private mutating func arrive() {
    nextNumber += 1
    let member = nextNumber
    offers[member] = Int.random(in: 0..<4, using: &random) > 0
    if line.arrive(member, offers: offers[member] == true, on: 0) { start(member) } else { wait(member) }
  }

  private mutating func wait(_ member: Int) {
    stands[member] = .waiting
    hasWaited.insert(member)
  }

  private mutating func start(_ member: Int) {
    let shares = offers[member] == true
    let found = connections.first { _, connection in
      connection.isUp && connection.shares == shares
        && connection.users.count < (connection.isHTTP2 ? streams : 1)
    }
    if let (number, _) = found { return use(member, number) }
    makeRoom()
    guard line.mayOpen(member, offers: shares, hasRoom: connections.count < limit) else {
      stands[member] = .refused
      return
    }
    nextNumber += 1
    connections[nextNumber] = Connection(shares: shares, isHTTP2: shares && isHTTP2, users: [member])
    stands[member] = .dialling(nextNumber)
  }

  private mutating func makeRoom() {
    guard connections.count >= limit, let idle = connections.first(where: { $0.value.users.isEmpty }) else { return }
    connections[idle.key] = nil
    line.socketsChanged()
  }

  private mutating func use(_ member: Int, _ number: Int) {
    connections[number]?.users.insert(member)
    connections[number]?.isUp = true
    stands[member] = .using(number)
    line.connected(member)
  }

  /// An event for one of the requests in progress.
  private mutating func advance() {
    let active = stands.filter { if case .waiting = $0.value { false } else { true } }.keys.sorted()
    // Sometimes a waiter is cancelled.
    let isForWaiting = active.isEmpty || Int.random(in: 0..<10, using: &random) == 0
    let candidates = isForWaiting ? stands.keys.sorted() : active
    guard let member = candidates.randomElement(using: &random), let stand = stands[member] else { return }
    switch stand {
    case .waiting:
      end(member, hasFailed: false)
    case .refused: returned(member)
    case .dialling(let number):
      if Int.random(in: 0..<4, using: &random) > 0 { return use(member, number) }
      connections[number] = nil
      line.socketsChanged()
      end(member, hasFailed: Bool.random(using: &random))
    case .using(let number):
      if connections[number]?.shares == true {
        line.learned(http2: connections[number]?.isHTTP2 == true)
      }
      connections[number]?.users.remove(member)
      // Some are closed with their last user.
      if connections[number]?.users.isEmpty == true, Int.random(in: 0..<4, using: &random) == 0 {
        connections[number] = nil
        line.socketsChanged()
      }
      served += 1
      end(member, hasFailed: false)
    }
  }

  /// libcurl returns a request that was refused. The request is tried once more, with the room that there is now.
  private mutating func returned(_ member: Int) {
    makeRoom()
    let shares = offers[member] == true
    if connections.count < limit, line.mayDial(member, offers: shares) { return start(member) }
    line.refused(member, offers: shares, on: 0, hasWaited: hasWaited.contains(member))
    wait(member)
  }

  private mutating func end(_ member: Int, hasFailed: Bool) {
    stands[member] = nil
    offers[member] = nil
    hasWaited.remove(member)
    line.ended(member, hasFailed: hasFailed)
  }

  private mutating func closeIdle() {
    guard let idle = connections.first(where: { $0.value.isUp && $0.value.users.isEmpty }) else { return }
    connections[idle.key] = nil
    line.socketsChanged()
  }
}
