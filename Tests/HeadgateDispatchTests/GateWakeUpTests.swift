import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Section B of the cases: no request that could run is left waiting.
@Suite struct GateWakeUpTests {
  private func gate(_ requests: Int, total: Int = 1000, clock: ManualClock = ManualClock()) throws -> EndPointGate {
    EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: requests), total: total), timers: clock)
  }

  @Test("D14 eight threads release and request permits at once: every request gets one, none is lost")
  func releaseAgainstWait() async throws {
    let gate = try gate(3)
    let endPoints = try (0..<5).map { try EndPoint(host: "h\($0)", port: 1) }
    let granted = Outcomes<Int>()
    let each = 5_000
    var threads: [WorkerThread] = []
    for number in 0..<8 {
      threads.append(
        try WorkerThread(name: "asker") {
          for turn in 0..<each {
            gate.requestPermit(for: endPoints[(turn + number) % 5]) { result in
              if case .success(let permit) = result { permit.release() }
              granted.add(turn)
            }
          }
        })
    }
    await granted.wait(for: 8 * each)
    for thread in threads { thread.join() }
    #expect(gate.counts.running == 0)
    #expect(gate.counts.waiting == 0)
    #expect(gate.counts.peak <= 3)
  }

  @Test("D15 a permit freed at one end-point wakes its own waiter, even if others wait")
  func ownWaiter() throws {
    let gate = try gate(1)
    let (a, b) = (try EndPoint(host: "a", port: 1), try EndPoint(host: "b", port: 1))
    let heldA = Outcomes<Permit>()
    let heldB = Outcomes<Permit>()
    for (endPoint, held) in [(a, heldA), (b, heldB), (b, heldB), (a, heldA)] {
      gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { held.add(permit) } }
    }
    #expect((heldA.count, heldB.count) == (1, 1))
    heldA.values[0].release()
    #expect((heldA.count, heldB.count) == (2, 1))
    heldA.values[1].release()
    heldB.values[0].release()
    heldB.values[1].release()
    #expect(gate.counts.endPoints == 0)
  }

  @Test("D16 two waiters and two releases at once: both run")
  func twoReleases() async throws {
    let gate = try gate(2)
    let endPoint = try EndPoint(host: "a", port: 1)
    for _ in 0..<500 {
      let permits = Outcomes<Permit>()
      for _ in 0..<4 { gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } } }
      let first = permits.values
      let threads = try first.map { permit in try WorkerThread(name: "releaser") { permit.release() } }
      await permits.wait(for: 4)
      for thread in threads { thread.join() }
      for permit in permits.values { permit.release() }
    }
    #expect(gate.counts.running == 0)
  }

  @Test("D17 a waiter that is cancelled as its permit arrives passes it on")
  func cancelledAsItComes() async throws {
    let gate = try gate(1)
    let endPoint = try EndPoint(host: "a", port: 1)
    for _ in 0..<1_000 {
      let ends = Outcomes<Bool>()
      let first = Outcomes<Permit>()
      gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { first.add(permit) } }
      let second = gate.requestPermit(for: endPoint) { result in
        if case .success(let permit) = result { permit.release() }
        ends.add(false)
      }
      gate.requestPermit(for: endPoint) { result in
        if case .success(let permit) = result { permit.release() }
        ends.add(true)
      }
      let permit = first.values[0]
      let releaser = try WorkerThread(name: "releaser") { permit.release() }
      second.cancel()
      await ends.wait(for: 2)
      releaser.join()
      #expect(gate.counts.running == 0)
    }
  }

  @Test("D18 a permit granted as the deadline passes is used or passed on, never both, never neither")
  func grantAgainstDeadline() async throws {
    let clock = ManualClock()
    let gate = try gate(1, clock: clock)
    let endPoint = try EndPoint(host: "a", port: 1)
    for _ in 0..<1_000 {
      let first = Outcomes<Permit>()
      let ends = Outcomes<Bool>()
      gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { first.add(permit) } }
      gate.requestPermit(for: endPoint, deadline: .seconds(1)) { result in
        ends.add((try? result.get())?.release() ?? false)
      }
      let permit = first.values[0]
      let releaser = try WorkerThread(name: "releaser") { permit.release() }
      clock.advance(by: .seconds(1))
      await ends.wait(for: 1)
      releaser.join()
      #expect(ends.count == 1)
      #expect(gate.counts.running == 0)
      #expect(clock.pendingCount == 0)
    }
  }

  @Test("D19 a request that can't run yet blocks no other")
  func noHeadOfLineBlocking() throws {
    let gate = EndPointGate(
      limits: try GateLimits(endPoint: EndPointLimits(requests: 2, long: 1), total: 2), timers: ManualClock())
    let (a, b) = (try EndPoint(host: "a", port: 1), try EndPoint(host: "b", port: 1))
    let permits = Outcomes<Permit>()
    let order = Outcomes<String>()
    func ask(_ name: String, _ endPoint: EndPoint, _ lane: RequestLane) {
      gate.requestPermit(for: endPoint, lane: lane) {
        order.add(name)
        if let permit = try? $0.get() { permits.add(permit) }
      }
    }
    ask("long a", a, .long)
    ask("second long a", a, .long)
    ask("long b", b, .long)  // the total's half for long ones is one
    ask("short a", a, .short)
    #expect(order.values == ["long a", "short a"])
    ask("short b", b, .short)
    permits.values[1].release()
    #expect(order.values == ["long a", "short a", "short b"])
    permits.values[0].release()
    // The end-point of the older request has had its turn.
    #expect(order.values == ["long a", "short a", "short b", "long b"])
    permits.values[2].release()
    permits.values[3].release()
    #expect(order.values.last == "second long a")
    permits.values[4].release()
    #expect(gate.counts.endPoints == 0)
  }

  @Test("D20 a blocking caller continues to wait after a spurious wake-up")
  func spuriousWakeUp() throws {
    let parker = Parker()
    let other = try WorkerThread(name: "waker") { for _ in 0..<1_000 { parker.unpark() } }
    other.join()
    #expect(parker.park(until: .distantPast))
    #expect(!parker.park(until: .now + .nanoseconds(1)))
  }

  @Test("D21 with ten thousand waiting, one free permit wakes one of them")
  func oneRelease() throws {
    let gate = try gate(1)
    let endPoint = try EndPoint(host: "a", port: 1)
    let permits = Outcomes<Permit>()
    for _ in 0..<10_000 { gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } } }
    #expect(permits.count == 1)
    permits.values[0].release()
    #expect(permits.count == 2)
    #expect(gate.counts.waiting == 9_998)
    while gate.counts.running > 0 { permits.last?.release() }
    #expect(permits.count == 10_000)
  }

  @Test("end-points take turns at the total, so that a busy one can't take it all")
  func turns() throws {
    let gate = try gate(8, total: 4)
    let endPoints = try (0..<4).map { try EndPoint(host: "h\($0)", port: 1) }
    let order = Outcomes<Int>()
    let permits = Outcomes<Permit>()
    func ask(_ index: Int) {
      gate.requestPermit(for: endPoints[index]) {
        order.add(index)
        if let permit = try? $0.get() { permits.add(permit) }
      }
    }
    for _ in 0..<100 { ask(0) }
    for _ in 0..<10 { for index in 1...3 { ask(index) } }
    for _ in 0..<36 { permits.values[permits.count - 4].release() }
    // After the first four, which found the total free, all get the same share.
    let shares = (0..<4).map { index in order.values.dropFirst(4).filter { $0 == index }.count }
    #expect(shares == [9, 9, 9, 9])
  }

  @Test("D75 two hundred thousand end-points visited once leave nothing behind")
  func manyEndPoints() throws {
    let gate = try gate(2)
    for number in 0..<(many / 5) {
      let endPoint = try EndPoint(host: "h\(number)", port: 80)
      gate.requestPermit(for: endPoint) { (try? $0.get())?.release() }
    }
    #expect(gate.counts.endPoints == 0)
    #expect(gate.counts.peak == 1)
  }
}
