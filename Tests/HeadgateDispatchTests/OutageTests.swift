import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// What starts while a coordinator can't be reached.
@Suite struct OutageTests {
  private let clock = ManualClock()
  private let permits = Permits()

  private func demand(_ requests: Int, rates: [Rate] = []) throws -> SharedDemand {
    SharedDemand(
      for: try EndPoint(host: "a", port: 80),
      limits: try GateLimits(endPoint: EndPointLimits(requests: requests, rates: rates)))
  }

  private func handler(_ link: SwitchedLink, _ policy: OutagePolicy) -> OutageHandler {
    OutageHandler(link, policy, timers: clock)
  }

  @Test("closed: requests wait for the coordinator, and start in order when it is back")
  func waits() throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let handler = handler(link, .failClosed(after: .seconds(30)))
    let demand = try demand(1)
    for _ in 0..<2 { _ = handler.requestPermit(demand) { permits.add($0) } }
    clock.advance(by: .seconds(29))
    #expect(permits.count == 0)
    link.set(isUp: true)
    #expect(permits.count == 1)
    // No time limit any more: the second one waits for the first.
    clock.advance(by: .seconds(3600))
    #expect(permits.count == 1)
    try permits.last?.get().release()
    #expect(permits.count == 2)
    #expect(permits.values.allSatisfy { $0.code == nil })
    try permits.last?.get().release()
    #expect(clock.pendingCount == 0)
  }

  @Test("closed: a request asks again if the coordinator came back between its failure and its wait")
  func backMeanwhile() throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let handler = handler(link, .failClosed(after: .seconds(30)))
    link.beforeFailure { link.set(isUp: true) }
    _ = handler.requestPermit(try demand(1)) { permits.add($0) }
    #expect(permits.values.map(\.code) == [nil])
    #expect(link.asked == 2)
    #expect(clock.pendingCount == 0)
  }

  @Test("closed: a request fails after its patience, or at once without any", arguments: [30, 0])
  func givesUp(seconds: Int) throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let handler = handler(link, .failClosed(after: .seconds(seconds)))
    _ = handler.requestPermit(try demand(1)) { permits.add($0) }
    #expect(permits.count == (seconds == 0 ? 1 : 0))
    clock.advance(by: .seconds(seconds))
    #expect(permits.values.map(\.code) == [.coordinatorUnavailable])
    #expect(permits.last?.error?.detail == "switched off")
    link.set(isUp: true)
    #expect(link.asked == 1)
    #expect(clock.pendingCount == 0)
  }

  @Test("a request that is cancelled during an outage ends once and does not ask again")
  func cancelled() throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let handler = handler(link, .failClosed())
    let request = handler.requestPermit(try demand(1)) { permits.add($0) }
    request.cancel()
    request.cancel()
    link.set(isUp: true)
    #expect(permits.values.map(\.code) == [.cancelled])
    #expect(link.asked == 1)
    #expect(clock.pendingCount == 0)
  }

  @Test("share: each program uses the limit divided by the number of programs")
  func share() throws {
    let link = SwitchedLink(isUp: false, programs: 3, clock: clock)
    let handler = handler(link, .localShare)
    let demand = try demand(7)
    for _ in 0..<5 { _ = handler.requestPermit(demand) { permits.add($0) } }
    #expect(permits.count == 2)
    try permits.last?.get().release()
    #expect(permits.count == 3)
  }

  @Test("share: a share below one request is none; the request waits")
  func noShare() throws {
    let link = SwitchedLink(isUp: false, programs: 8, clock: clock)
    let handler = handler(link, .localShare)
    _ = handler.requestPermit(try demand(7)) { permits.add($0) }
    #expect(permits.count == 0)
    link.set(isUp: true)
    #expect(permits.count == 1)
  }

  @Test("shares of rates and budgets never add up to more than the whole")
  func sharesOfRates() throws {
    let minute = Duration.seconds(60)
    for programs in 1...20 {
      for count in 1...20 {
        let whole = try EndPointLimits(
          requests: 100, rates: [.rolling(count, per: minute), .spaced(count, per: minute)], budgets: [])
        let share = try whole.share(of: programs)
        for rate in share.rates {
          let most = rate.form == .rolling && rate.period == minute ? count / programs : rate.count
          #expect(rate.count <= most)
          // Starts a minute, of all programs together.
          let together = Double(rate.count * programs) * (minute / rate.period)
          #expect(together <= Double(count) + 1e-9, "\(programs) programs with \(rate) of \(count)")
        }
      }
    }
    let heavy = try EndPointLimits(requests: 100, budgets: [Budget("tokens", units: 9, per: minute)])
    #expect(try heavy.share(of: 4).budgets.map(\.units) == [2])
    #expect(throws: LimitError.self) { try heavy.share(of: 10) }
  }

  @Test("open: each program has limits of its own")
  func open() throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let handler = handler(link, .failOpen(try EndPointLimits(requests: 3)))
    let demand = try demand(1)
    for _ in 0..<5 { _ = handler.requestPermit(demand) { permits.add($0) } }
    #expect(permits.count == 3)
  }

  @Test("open: a request that is cancelled leaves the local queue, and takes nothing from the rate")
  func cancelledLocally() throws {
    let link = SwitchedLink(isUp: false, clock: clock)
    let limits = try EndPointLimits(requests: 1, rates: [.rolling(2, per: .seconds(60))])
    let handler = handler(link, .failOpen(limits))
    let demand = try demand(1)
    let requests = (0..<3).map { _ in handler.requestPermit(demand) { permits.add($0) } }
    requests[1].cancel()
    try permits.values.first?.get().release()
    #expect(permits.values.map(\.code) == [nil, .cancelled, nil])
  }

  @Test("a request that has asked again at once is cancelled at the coordinator")
  func cancelledAfterReturn() throws {
    let link = SwitchedLink(isUp: true, clock: clock)
    let handler = handler(link, .failClosed())
    let demand = try demand(1, rates: [.rolling(2, per: .seconds(60))])
    _ = handler.requestPermit(demand) { permits.add($0) }
    link.set(isUp: false)
    link.beforeFailure { link.set(isUp: true) }
    let second = handler.requestPermit(demand) { permits.add($0) }
    second.cancel()
    _ = handler.requestPermit(demand) { permits.add($0) }
    try permits.values.first?.get().release()
    #expect(permits.values.map(\.code) == [nil, .cancelled, nil])
  }

  @Test("what a link answers after a cancellation: a permit is returned, and an outage takes nothing from the rate")
  func lateAnswers() throws {
    let link = LateLink()
    let limits = try EndPointLimits(requests: 1, rates: [.rolling(1, per: .seconds(60))])
    let handler = OutageHandler(link, .failOpen(limits), timers: clock)
    let demand = try demand(1)
    for _ in 0..<2 { handler.requestPermit(demand) { permits.add($0) }.cancel() }
    let gate = EndPointGate(limits: .standard, timers: clock, logger: .silent)
    gate.requestPermit(for: demand.endPoint) { link.answer($0.map { $0 }) }
    #expect(gate.counts.running == 0)
    let outage = DispatchError(.coordinatorUnavailable)
    link.answer(.failure(outage))
    _ = handler.requestPermit(demand) { permits.add($0) }
    link.answer(.failure(outage))
    #expect(permits.values.map(\.code) == [.cancelled, .cancelled, nil])
  }

  @Test("a shutdown ends what waits, and later requests", arguments: [true, false])
  func shutDown(isUp: Bool) throws {
    let link = SwitchedLink(isUp: isUp, clock: clock)
    let handler = handler(link, .failClosed())
    let demand = try demand(1)
    for _ in 0..<2 { _ = handler.requestPermit(demand) { permits.add($0) } }
    handler.shutDown()
    _ = handler.requestPermit(demand) { permits.add($0) }
    #expect(permits.values.map(\.code) == (isUp ? [nil, .shutDown, .shutDown] : [.shutDown, .shutDown, .shutDown]))
    #expect(clock.pendingCount == 0)
  }
}

/// A link that answers when the test says so, whether or not a request was cancelled.
private final class LateLink: CoordinatorLink, SharedPermitRequest {
  private let asked = Locked<[@Sendable (Result<any SharedPermit, DispatchError>) -> Void]>([])
  let programs = 1

  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    asked.withLock { $0.append(completion) }
    return self
  }

  /// Answers the oldest request.
  func answer(_ result: Result<any SharedPermit, DispatchError>) {
    let completion = asked.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    completion?(result)
  }

  func cancel() {}
  func whenBack(_ action: @escaping @Sendable () -> Void) {}
  func shutDown() {}
}
