import HeadgateThreads
import Testing

@testable import HeadgateGate

/// Requests that leave the queue for a while, and return.
@Suite struct SchedulerExpectedTests {
  private let place: EndPoint
  private var scheduler: Scheduler<Int>

  init() throws {
    place = try EndPoint(host: "a", port: 80)
    scheduler = Scheduler(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
  }

  private mutating func submit(_ item: Int, _ admission: Admission = .new, at moment: UInt64) -> Bool {
    if case .refused = scheduler.submit(
      item, to: place, .short, at: Deadline(nanoseconds: moment), mayStart: true, as: admission)
    {
      return false
    }
    return true
  }

  private mutating func isNothingToDo() -> Bool { if case nil = scheduler.next() { true } else { false } }

  private mutating func starts() -> (Int, Ticket)? {
    if case .start(let item, let ticket)? = scheduler.next() { return (item, ticket) }
    return nil
  }

  @Test("a returning request keeps its original age, and precedes later ones")
  func age() throws {
    var own = self
    let is1 = own.scheduler.expect(wasHere: false)
    #expect(is1)
    guard case .started(let first) = own.scheduler.submit(0, to: place, .short, at: .distantPast, mayStart: true)
    else {
      Issue.record("nothing starts")
      return
    }
    let is2 = own.submit(1, at: 200)
    #expect(is2)
    let is3 = own.submit(2, .expected(age: 100), at: 300)
    #expect(is3)
    let is4 = own.submit(3, at: 400)
    #expect(is4)
    var ticket = first
    var order: [Int] = []
    for _ in 0..<3 {
      _ = own.scheduler.finish(ticket)
      let next = own.starts()
      let (item, other) = try #require(next)
      order.append(item)
      ticket = other
    }
    #expect(order == [2, 1, 3])
  }

  @Test("a draining gate waits for expected requests, and accepts them only")
  func drains() {
    var own = self
    let is5 = own.scheduler.expect(wasHere: false)
    #expect(is5)
    own.scheduler.close(.draining)
    #expect(!own.scheduler.hasEffects)
    let nothing1 = own.isNothingToDo()
    #expect(nothing1)
    let is6 = own.submit(1, at: 1)
    #expect(!is6)
    let is7 = own.scheduler.expect(wasHere: false)
    #expect(!is7)
    // Requests needed for its return may come before it.
    guard
      case .started(let helper) = own.scheduler.submit(2, to: place, .short, mayStart: true, as: .onBehalf(age: 0))
    else {
      Issue.record("a request for an expected one was not accepted")
      return
    }
    _ = own.scheduler.finish(helper)
    let nothing2 = own.isNothingToDo()
    #expect(nothing2)
    guard
      case .started(let ticket) = own.scheduler.submit(
        3, to: place, .short, mayStart: true, as: .expected(age: 1))
    else {
      Issue.record("an expected request was not accepted")
      return
    }
    // It may leave once more.
    let is8 = own.scheduler.expect(wasHere: true)
    #expect(is8)
    _ = own.scheduler.finish(ticket)
    let nothing3 = own.isNothingToDo()
    #expect(nothing3)
    own.scheduler.forgetExpected()
    #expect(own.scheduler.hasEffects)
    guard case .drained? = own.scheduler.next() else {
      Issue.record("the empty gate was not reported")
      return
    }
    guard case .refused = own.scheduler.submit(4, to: place, .short, mayStart: true, as: .onBehalf(age: 0)) else {
      Issue.record("an empty gate accepted a request")
      return
    }
  }

  @Test("a gate that ends waiting requests does not wait for expected ones, and refuses them", arguments: [1, 2])
  func ends(_ kind: Int) {
    var own = self
    let is9 = own.scheduler.expect(wasHere: false)
    #expect(is9)
    own.scheduler.close(kind == 1 ? .ending : .aborting)
    let is10 = own.scheduler.expect(wasHere: true)
    #expect(!is10)
    guard case .drained? = own.scheduler.next() else {
      Issue.record("it waits")
      return
    }
    let is11 = own.submit(1, .expected(age: 0), at: 1)
    #expect(!is11)
    #expect(own.scheduler.expected == 0)
  }

  @Test("a request that returns to a stopped end-point ends with the draining gate")
  func paused() {
    var own = self
    let is12 = own.scheduler.expect(wasHere: false)
    #expect(is12)
    own.scheduler.setStopped(true, at: place)
    own.scheduler.close(.draining)
    let nothing4 = own.isNothingToDo()
    #expect(nothing4)
    let is13 = own.submit(1, .expected(age: 0), at: 1)
    #expect(is13)
    guard case .end(1)? = own.scheduler.next(), case .drained? = own.scheduler.next() else {
      Issue.record("it waits for ever")
      return
    }
  }
}
