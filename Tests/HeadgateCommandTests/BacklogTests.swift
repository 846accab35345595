import HeadgateDispatch
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// Which lines wait where, as a value.
@Suite struct BacklogTests {
  private let hosts: [EndPoint]

  init() throws { hosts = try (0..<5).map { try EndPoint(host: "h\($0)", port: 80) } }

  @Test func `Excess lines of a host go to disk, and return when a quarter of its lines have ended`() {
    var backlog = Backlog()
    let (host, other) = (hosts[0], hosts[1])
    let places = (0..<10).map { _ in backlog.admit(to: host) { 4 } }
    #expect(places == [true, true, true, true] + Array(repeating: false, count: 6))
    #expect(backlog.admit(to: other) { 4 })
    #expect(backlog.stored(6, at: host) == nil)
    #expect(backlog.ended(at: host) == Backlog.Recall(endPoint: host, count: 1))
    // One at a time for each end-point, so that its lines keep their order.
    #expect(backlog.ended(at: host) == nil)
    #expect(!backlog.admit(to: host) { 4 })
    #expect(backlog.recallEnded(host) == Backlog.Recall(endPoint: host, count: 1))
    #expect(backlog.stored == 4)
  }

  @Test func `A host is forgotten with its last line`() {
    var backlog = Backlog()
    for _ in 0..<3 { _ = backlog.admit(to: hosts[0]) { 2 } }
    #expect(backlog.endPoints == 1)
    #expect(backlog.stored(1, at: hosts[0]) == nil)
    #expect(backlog.ended(at: hosts[0])?.count == 1)
    #expect(backlog.recallEnded(hosts[0]) == nil)
    #expect(backlog.ended(at: hosts[0]) == nil)
    #expect(backlog.ended(at: hosts[0]) == nil)
    #expect(backlog.endPoints == 0)
  }

  @Test func `While the disk is full all lines go to the queue, until it is empty again`() {
    var backlog = Backlog()
    let host = hosts[0]
    for _ in 0..<3 { _ = backlog.admit(to: host) { 1 } }
    #expect(backlog.stored(1, at: host) == nil)
    backlog.refused(1, at: host)
    #expect(backlog.isFull)
    #expect(backlog.admit(to: host) { 1 })
    // 1 from the beginning, 1 that was refused, 1 since then: the one on disk waits for all of them.
    #expect(backlog.ended(at: host) == nil)
    #expect(backlog.ended(at: host) == nil)
    #expect(backlog.ended(at: host)?.count == 1)
    #expect(!backlog.isFull)
  }

  @Test func `Lines that can't be read back do not count as queued`() {
    var backlog = Backlog()
    let host = hosts[0]
    for _ in 0..<4 { _ = backlog.admit(to: host) { 1 } }
    #expect(backlog.stored(3, at: host) == nil)
    #expect(backlog.ended(at: host)?.count == 1)
    #expect(backlog.abandon(host) == 2)
    #expect(backlog.recallEnded(host, missing: 1) == nil)
    #expect(backlog.endPoints == 0)
    #expect(backlog.abandonAll() == 0)
  }

  /// All lines of all hosts, one by one.
  private struct Model {
    var backlog = Backlog()
    var queued: [EndPoint: [Int]] = [:]
    var staged: [EndPoint: [Int]] = [:]
    var disk: [EndPoint: [Int]] = [:]
    var recalls: [Backlog.Recall] = []
    var submitted: [EndPoint: [Int]] = [:]
    var lost = 0
    var diskWasFull = false
    let most: [EndPoint: Int]

    mutating func take(_ recall: Backlog.Recall?) {
      if let recall { recalls.append(recall) }
    }

    mutating func read(_ line: Int, of host: EndPoint) {
      let most = most[host] ?? 1
      if backlog.admit(to: host, most: { most }) {
        submit(line, of: host)
      } else {
        staged[host, default: []].append(line)
      }
    }

    mutating func submit(_ line: Int, of host: EndPoint) {
      queued[host, default: []].append(line)
      submitted[host, default: []].append(line)
    }

    mutating func store(isFull: Bool) {
      diskWasFull = diskWasFull || isFull
      for (host, lines) in staged {
        if isFull {
          backlog.refused(lines.count, at: host)
          for line in lines { submit(line, of: host) }
        } else {
          take(backlog.stored(lines.count, at: host))
          disk[host, default: []] += lines
        }
      }
      staged = [:]
    }

    mutating func bringBack(_ recall: Backlog.Recall) {
      let lines = disk[recall.endPoint]?.prefix(recall.count) ?? []
      disk[recall.endPoint]?.removeFirst(lines.count)
      for line in lines { submit(line, of: recall.endPoint) }
      take(backlog.recallEnded(recall.endPoint))
    }

    mutating func end(_ host: EndPoint, _ place: Int) {
      queued[host]?.remove(at: place)
      take(backlog.ended(at: host))
    }

    func check() {
      let waiting = disk.values.reduce(0) { $0 + $1.count }
      #expect(backlog.staged == staged.values.reduce(0) { $0 + $1.count })
      #expect(backlog.stored == waiting - recalls.reduce(0) { $0 + $1.count })
      for (host, most) in most {
        let recalled = recalls.first { $0.endPoint == host }?.count ?? 0
        #expect(recalls.count { $0.endPoint == host } <= 1)
        if !diskWasFull { #expect((queued[host] ?? []).count + recalled <= most) }
        // No line is forgotten: lines on disk are requested when a line of their host ends.
        if !(disk[host] ?? []).isEmpty { #expect(recalled > 0 || !(queued[host] ?? []).isEmpty) }
      }
    }
  }

  @Test(arguments: 0..<20)
  func `In any order of events each line is processed once, in its host's order, within the host's bound`(
    seed: Int
  ) {
    var random = SeededRandom(seed: UInt64(seed))
    let bounds = hosts.map { ($0, Int.random(in: 1...9, using: &random)) }
    var model = Model(most: Dictionary(uniqueKeysWithValues: bounds))
    let mayFill = seed % 4 == 0
    var line = 0
    for _ in 0..<2000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        model.read(line, of: hosts[min(Int.random(in: 0..<9, using: &random), 4)])
        line += 1
      case 4: model.store(isFull: mayFill && Int.random(in: 0..<8, using: &random) == 0)
      case 5:
        if let place = model.recalls.indices.randomElement(using: &random) {
          model.bringBack(model.recalls.remove(at: place))
        }
      default:
        if let host = hosts.filter({ model.queued[$0]?.isEmpty == false }).randomElement(using: &random) {
          model.end(host, Int.random(in: 0..<(model.queued[host]?.count ?? 1), using: &random))
        }
      }
      model.check()
    }
    while true {
      model.store(isFull: false)
      if let recall = model.recalls.popLast() {
        model.bringBack(recall)
      } else if let host = hosts.first(where: { model.queued[$0]?.isEmpty == false }) {
        model.end(host, 0)
      } else {
        break
      }
      model.check()
    }
    #expect(model.backlog.endPoints == 0)
    #expect(model.submitted.values.flatMap { $0 }.sorted() == Array(0..<line))
    if !model.diskWasFull { for lines in model.submitted.values { #expect(lines == lines.sorted()) } }
  }
}
