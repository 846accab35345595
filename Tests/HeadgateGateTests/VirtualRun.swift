import HeadgateTesting
import HeadgateThreads

@testable import HeadgateGate

/// Requests through a scheduler to one end-point with a closure as its server, in virtual time.
struct VirtualRun {
  /// How a server answers a request.
  struct Answer {
    var seconds: Double
    var status = 200
    var wait: Duration?
    /// What the server says is left of its quota, and the seconds until more is.
    var quota: (left: Int, reset: Double)?
    /// The true weight of the request when it ends.
    var weighed: [String: Int]?
  }

  private enum Event {
    case arrives(Int)
    case ends(Int, Answer)
  }

  let endPoint: EndPoint
  private(set) var scheduler: Scheduler<Int>
  private(set) var now = 1.0
  /// Refused requests return, as with a retry policy.
  private(set) var refused: [Int] = []
  private(set) var served: [(item: Int, second: Double)] = []
  private(set) var sleeps: [(began: Double, until: Double)] = []
  private(set) var starts: [(item: Int, second: Double)] = []
  /// What all requests waited for, and how many of them were told another sum than the time that they waited.
  private(set) var waited = WaitTimes()
  private(set) var wrongSums = 0
  var lane = RequestLane.short
  private var submitted: [Int: Deadline] = [:]
  private var random: SeededRandom
  private var tickets: [Int: (ticket: Ticket, start: Deadline)] = [:]
  private var events: [(moment: Double, event: Event)] = []

  init(_ limits: GateLimits, seed: UInt64) throws {
    endPoint = try EndPoint(host: "a", port: 1)
    scheduler = Scheduler(limits: limits)
    random = SeededRandom(seed: seed)
  }

  static func deadline(_ seconds: Double) -> Deadline { Deadline(nanoseconds: UInt64(seconds * 1e9)) }

  /// Sends requests until all are served, or until a given time.
  mutating func serve(
    _ items: Range<Int>, needs: (Int) -> StartNeeds? = { _ in nil }, until end: Double = .infinity,
    by server: (_ item: Int, _ now: Double) -> Answer
  ) {
    for item in items { submit(item, needs(item)) }
    while now < end {
      start()
      let next = events.indices.min { events[$0].moment < events[$1].moment }
      let wakeAt = scheduler.wakeAt.map { Double($0.nanoseconds + 1) / 1e9 }
      guard let next, events[next].moment < wakeAt ?? .infinity else {
        guard let wakeAt else { return }
        now = max(now, wakeAt)
        scheduler.wake(at: Self.deadline(now))
        continue
      }
      let (moment, event) = events.remove(at: next)
      now = max(now, moment)
      switch event {
      case .arrives(let item):
        let answer = server(item, now)
        events.append((now + answer.seconds, .ends(item, answer)))
      case .ends(let item, let answer): finish(item, answer, needs(item))
      }
    }
  }

  /// The server's sockets carry several requests at a time.
  mutating func multiplex() { scheduler.setMultiplexing(true, at: endPoint) }

  private mutating func submit(_ item: Int, _ needs: StartNeeds?) {
    submitted[item] = Self.deadline(now)
    _ = scheduler.submit(item, to: endPoint, lane, at: Self.deadline(now), needs: needs)
  }

  private mutating func start() {
    while let effect = scheduler.next() {
      guard case .start(let item, let ticket) = effect else { continue }
      if let since = submitted[item], scheduler.waited.total != Self.deadline(now) - since { wrongSums += 1 }
      waited += scheduler.waited
      tickets[item] = (ticket, Self.deadline(now))
      starts.append((item, now))
      events.append((now + .random(in: 0.0005...0.001, using: &random), .arrives(item)))
    }
  }

  private mutating func finish(_ item: Int, _ answer: Answer, _ needs: StartNeeds?) {
    guard let (ticket, start) = tickets.removeValue(forKey: item) else { return }
    let outcome = ExchangeOutcome.response(answer.status, wait: answer.wait)
    // As `DispatchOperation.noteHead` does.
    if let (left, reset) = answer.quota, answer.status == 200 || left == 0 {
      let outcome = ExchangeOutcome.quota(remaining: left, until: Self.deadline(now + reset))
      _ = scheduler.note(outcome, of: ticket, startedAt: start, at: Self.deadline(now), using: &random)
    }
    if let sleep = scheduler.note(outcome, of: ticket, startedAt: start, at: Self.deadline(now), using: &random) {
      sleeps.append((now, Double(sleep.reason.until?.nanoseconds ?? 0) / 1e9))
    }
    scheduler.advance(to: Self.deadline(now))
    if let weighed = answer.weighed { _ = scheduler.settleWeight(ticket, weighed) }
    _ = scheduler.finish(ticket)
    if answer.status == 200 {
      served.append((item, now))
    } else {
      refused.append(item)
      submit(item, needs)
    }
  }
}

extension ExchangeOutcome {
  /// What the dispatcher makes of a status.
  static func response(_ status: Int, wait: Duration? = nil) -> ExchangeOutcome {
    switch status {
    case 429: .refused(wait: wait, status: status)
    case 503: .unavailable(wait: wait, status: status)
    default: .answered
    }
  }
}
