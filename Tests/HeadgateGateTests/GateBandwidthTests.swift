import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

@Suite struct GateBandwidthTests {
  /// The names of those whose turn has come, in order.
  private final class Turns: Sendable {
    private let names = Locked<[String]>([])
    // The optimizer releases an array after its last use, and a flow that is released leaves its line.
    private let flows = Locked<[BandwidthFlow]>([])

    func keep(_ flow: BandwidthFlow) { flows.withLock { $0.append(flow) } }
    var value: [String] { names.withLock { $0 } }
    func add(_ name: String) { names.withLock { $0.append(name) } }
  }

  private let clock = ManualClock()
  private let first: EndPoint
  private let second: EndPoint
  private let turns = Turns()

  init() throws {
    first = try EndPoint(host: "a.example", port: 80)
    second = try EndPoint(host: "b.example", port: 80)
  }

  private func gate(_ change: (inout GateLimits) -> Void) -> EndPointGate {
    var limits = GateLimits.standard
    change(&limits)
    return EndPointGate(limits: limits, timers: clock)
  }

  private func waits(_ flow: BandwidthFlow?, _ name: String) -> Bool {
    guard let flow else { return false }
    turns.keep(flow)
    return flow.mustWait { [turns] in turns.add(name) }
  }

  @Test("a transfer to an end-point without a limit is not limited; a limit that is set later applies to later ones")
  func none() throws {
    let gate = gate { _ in }
    #expect(gate.bandwidth.flow(to: first) == nil)
    gate.setLimits(try EndPointLimits(requests: 6, bandwidth: 1000), for: first)
    #expect(gate.bandwidth.flow(to: first) != nil && gate.bandwidth.flow(to: second) == nil)
    gate.updateLimits { $0.bandwidth = 1000 }
    #expect(gate.bandwidth.flow(to: second) != nil)
    gate.setLimits(.standard)
    #expect(gate.bandwidth.flow(to: first) == nil)
  }

  @Test("a transfer waits for its end-point's turn, then for that of the total")
  func both() {
    let gate = gate {
      $0.bandwidth = 10_000
      $0.endPoint.bandwidth = 5_000
    }
    let flow = gate.bandwidth.flow(to: first)
    #expect(!waits(flow, "a"))
    flow?.moved(10_000)
    // Another end-point has its own limit, and shares the total.
    let other = gate.bandwidth.flow(to: second)
    #expect(waits(flow, "a") && waits(other, "b"))
    clock.advance(by: .milliseconds(980))
    #expect(turns.value.isEmpty)
    clock.advance(by: .milliseconds(20))
    #expect(turns.value == ["b"])
    other?.moved(20_000)
    // The end-point's turn comes after two seconds, the total's after three.
    clock.advance(by: .milliseconds(1_980))
    #expect(turns.value == ["b"] && flow?.isWaiting == true)
    clock.advance(by: .milliseconds(30))
    #expect(turns.value == ["b", "a"] && flow?.isWaiting == false)
    other?.end()
    flow?.end()
    #expect(clock.pendingCount == 0)
  }

  @Test("a transfer that ends while it waits need not wait any more, and the next one has its turn")
  func ended() {
    let gate = gate { $0.bandwidth = 1_000 }
    let flows = (0..<3).map { _ in gate.bandwidth.flow(to: first) }
    flows[0]?.moved(1_000)
    #expect(flows.indices.allSatisfy { waits(flows[$0], "\($0)") })
    flows[1]?.end()
    flows[0]?.end()
    #expect(turns.value == ["1", "0"])
    clock.advance(by: .seconds(1))
    #expect(turns.value == ["1", "0", "2"])
  }

  @Test("what was moved is paid for by later transfers, though the one that moved it has ended")
  func debt() throws {
    let gate = gate { $0.endPoint.bandwidth = 1_000 }
    for _ in 0..<3 {
      let flow = gate.bandwidth.flow(to: first)
      flow?.moved(1_000)
    }
    // Limits that nobody uses are forgotten, but not those.
    for number in 0..<300 { _ = gate.bandwidth.flow(to: try EndPoint(host: "h\(number)", port: 80)) }
    let last = gate.bandwidth.flow(to: first)
    #expect(waits(last, "last"))
    clock.advance(by: .milliseconds(2_980))
    #expect(turns.value.isEmpty)
    clock.advance(by: .milliseconds(20))
    #expect(turns.value == ["last"])
  }

  @Test("one that comes back, or ends, and has used less than was expected passes on the rest")
  func passedOn() {
    let gate = gate { $0.bandwidth = 1_000_000 }
    let flows = (0..<4).map { _ in gate.bandwidth.flow(to: first) }
    flows[0]?.moved(17_000)
    #expect(flows.indices.allSatisfy { waits(flows[$0], "\($0)") })
    // The credit of a round is less than a usual piece.
    clock.advance(by: .milliseconds(4))
    #expect(turns.value == ["1"])
    flows[1]?.moved(100)
    #expect(waits(flows[1], "1") && turns.value == ["1", "2"])
    flows[2]?.end()
    #expect(turns.value == ["1", "2", "3"])
  }

  @Test("a wait that is repeated is one wait, and its last caller is called")
  func repeated() {
    let gate = gate { $0.bandwidth = 1_000 }
    let flow = gate.bandwidth.flow(to: first)
    flow?.moved(1_000)
    #expect(waits(flow, "first") && waits(flow, "second"))
    clock.advance(by: .seconds(2))
    #expect(turns.value == ["second"])
  }

  @Test("a limit that is raised or removed applies to transfers that wait")
  func changed() {
    let gate = gate { $0.bandwidth = 1_000 }
    let flows = (0..<2).map { _ in gate.bandwidth.flow(to: first) }
    flows[0]?.moved(100_000)
    #expect(waits(flows[0], "0") && waits(flows[1], "1"))
    gate.updateLimits { $0.bandwidth = 1_000_000 }
    clock.advance(by: .milliseconds(101))
    #expect(turns.value == ["1"])
    flows[1]?.moved(100_000_000)
    gate.updateLimits { $0.bandwidth = nil }
    #expect(turns.value == ["1", "0"])
    #expect(!waits(flows[0], "0"))
  }

  @Test("numbers out of range: initializers throw, properties take the nearest number")
  func range() throws {
    #expect(throws: LimitError.self) { try GateLimits(bandwidth: 0) }
    #expect(throws: LimitError.self) { try EndPointLimits(requests: 1, bandwidth: -1) }
    var limits = try GateLimits(bandwidth: 5)
    limits.bandwidth = -5
    limits.endPoint.bandwidth = 0
    #expect((limits.bandwidth, limits.endPoint.bandwidth) == (1, 1))
  }
}
