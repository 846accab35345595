import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// What a server has said outlives the process: each bench is a new one, with the same folder.
@Suite struct GateStateTests {
  private static let start: Int64 = 1_764_000_000_000

  private let folder: DownloadFolder
  private let reads = LockedBox(0)

  init() throws { folder = try DownloadFolder() }

  private var files: [String] { folder.names(below: "state").filter { $0.contains(":") } }

  /// A process that begins at a time, in seconds. Its wall clock follows its own clock.
  private func process(
    at seconds: Double = 0, requests: Int = 8, rates: [Rate] = [], pauses: PausePolicy? = PausePolicy(jitter: 0),
    breaker: BreakerPolicy? = nil, keepsState: Bool = true
  ) throws -> Bench {
    let clock = ManualClock()
    let begin = clock.now
    let state = GateState(
      folder: folder.path + "/state", report: { Issue.record("\($0)") },
      wallClock: { [reads] in
        reads.withLock { $0 += 1 }
        return Self.start + Int64(seconds * 1000) + (clock.now - begin).wholeNanoseconds / 1_000_000
      })
    return try Bench(
      requests: requests, clock: clock, pauses: pauses, breaker: breaker, rates: rates,
      state: keepsState ? state : nil)
  }

  private func started(_ bench: Bench) -> [ScriptedExchange] {
    var started: [ScriptedExchange] = []
    while let one = bench.transport.takeStarted() { started.append(one) }
    return started
  }

  /// Submits a request that is refused, and names a wait.
  private func refuse(_ bench: Bench, for seconds: Int) throws {
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    try #require(bench.transport.takeStarted()).respond(429, [.retryAfter: "\(seconds)"])
    #expect(try responses.last?.get().statusCode == 429)
  }

  @Test("a wait of six hours is kept whole: until then a new process asks nothing and ends its requests at once")
  func sixHours() throws {
    try refuse(process(), for: 6 * 3600)
    for minutes in stride(from: 5.0, to: 350, by: 5) {
      let bench = try process(at: minutes * 60)
      let responses = Responses()
      bench.send(try bench.request(), into: responses)
      bench.send(try bench.request(host: "b"), into: responses)
      #expect(started(bench).map(\.request.url) == ["http://b/"])
      #expect(responses.last?.code == .refusing && responses.count == 1)
      #expect(responses.last?.error?.waitReason?.description.hasSuffix("by 429") == true)
    }
    let bench = try process(at: 6 * 3600 + 0.01)
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    started(bench).first?.respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(files.isEmpty)
  }

  @Test("a pause that is shorter than the longest pause is waited out, and then one request is sent as a probe")
  func short() throws {
    try refuse(process(), for: 60)
    let bench = try process(at: 20)
    let responses = Responses()
    for _ in 0..<8 { bench.send(try bench.request(), into: responses) }
    bench.clock.advance(by: .milliseconds(39_990))
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .milliseconds(20))
    var running = started(bench)
    #expect(running.count == 1)
    while !running.isEmpty {
      for one in running { one.respond() }
      running = started(bench)
    }
    #expect(responses.count == 8 && bench.isClean())
  }

  @Test("the refusal is on disk before its response is delivered, and a burst is written once")
  func before() throws {
    let bench = try process(requests: 4)
    let seen = Outcomes<Int>()
    for _ in 0..<4 {
      bench.dispatcher.dispatch(try bench.request()) { [folder] _ in
        seen.add(folder.names(below: "state").filter { $0.contains(":") }.count)
      }
    }
    let running = started(bench)
    running[0].respond(429, [.retryAfter: "60"])
    #expect(seen.values == [1])
    let text = folder.bytes("state/a:80")
    let reads = self.reads.withLock { $0 }
    for one in running[1...] { one.respond(429, [.retryAfter: "90"]) }
    #expect(folder.bytes("state/a:80") == text && self.reads.withLock { $0 } == reads)
  }

  @Test("a refusal that also reports an exhausted quota is kept with the longer of both waits")
  func once() throws {
    let remaining = try #require(HTTPField.Name("X-RateLimit-Remaining"))
    let reset = try #require(HTTPField.Name("X-RateLimit-Reset"))
    for (host, wait, left, status) in [("b", "90", "60", " status=429"), ("c", "60", "90", "")] {
      let bench = try process()
      bench.send(try bench.request(host: host), into: Responses())
      started(bench).first?.respond(429, [.retryAfter: wait, remaining: "0", reset: left])
      let text = String(decoding: folder.bytes("state/\(host):80") ?? [], as: UTF8.self)
      #expect(text.contains("until=\(Self.start + 90_001)\(status)\n"), "\(text)")
    }
  }

  @Test("answers that refuse nothing neither read nor write, nor does the second request to an end-point")
  func free() throws {
    let bench = try process()
    let responses = Responses()
    for round in 0..<100 {
      bench.send(try bench.request(), into: responses)
      started(bench).first?.respond()
      if round == 0 { reads.withLock { $0 = 0 } }
    }
    #expect(responses.count == 100 && reads.withLock { $0 } == 0 && folder.names.isEmpty)
  }

  @Test("an answer after the pause ends what later processes believe")
  func answered() throws {
    let bench = try process()
    try refuse(bench, for: 3600)
    let text = folder.bytes("state/a:80")
    // This process waits for no longer than ten minutes.
    bench.clock.advance(by: .seconds(601))
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let probe = try #require(started(bench).first)
    #expect(folder.bytes("state/a:80") == text)
    probe.respond()
    #expect(files.isEmpty && responses.count == 1)
  }

  @Test("an answer to a request that started before another process was refused ends nothing")
  func crossed() throws {
    let bench = try process()
    try refuse(bench, for: 1)
    bench.clock.advance(by: .seconds(2))
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let probe = try #require(started(bench).first)
    bench.clock.advance(by: .milliseconds(500))
    try refuse(process(at: 2.4), for: 600)
    probe.respond()
    #expect(files == ["a:80"])
  }

  @Test("what is read only prolongs a pause: policies without pauses, and gates without state, read nothing")
  func only() throws {
    try refuse(process(), for: 3600)
    for bench in [try process(at: 1, pauses: nil), try process(at: 1, keepsState: false)] {
      let responses = Responses()
      bench.send(try bench.request(), into: responses)
      #expect(started(bench).count == 1)
    }
  }

  @Test("a shorter wait does not replace a longer one that another process was told meanwhile")
  func longest() throws {
    let early = try process()
    let responses = Responses()
    early.send(try early.request(), into: responses)
    try refuse(process(), for: 3600)
    started(early).first?.respond(429, [.retryAfter: "5"])
    let bench = try process(at: 6)
    bench.send(try bench.request(), into: responses)
    #expect(responses.last?.code == .refusing)
  }

  @Test("an exhausted quota is kept until its reset, in full")
  func quota() throws {
    let bench = try process()
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let remaining = try #require(HTTPField.Name("X-RateLimit-Remaining"))
    let reset = try #require(HTTPField.Name("X-RateLimit-Reset"))
    started(bench).first?.respond(200, [remaining: "0", reset: "7200"])
    #expect(files == ["a:80"])
    let later = try process(at: 7000)
    later.send(try later.request(), into: responses)
    later.clock.advance(by: .seconds(199))
    #expect(started(later).isEmpty)
    later.clock.advance(by: .seconds(2))
    #expect(started(later).count == 1)
    let soon = try process(at: 60)
    soon.send(try soon.request(), into: responses)
    #expect(responses.last?.code == .refusing)
  }

  @Test("a suspension by the circuit breaker is kept, for processes with a breaker")
  func outage() throws {
    let breaker = BreakerPolicy(failures: 1, probes: 1, jitter: 0)
    let bench = try process(breaker: breaker)
    let responses = Responses()
    for _ in 0..<2 {
      bench.send(try bench.request(), into: responses)
      started(bench).first?.end(DispatchError(.connectFailed, phase: .connecting))
      bench.clock.advance(by: .milliseconds(1001))
    }
    #expect(responses.values.map(\.code) == [.connectFailed, .connectFailed])
    for (breaker, code) in [(breaker, DispatchError.Code.unreachable), (nil, nil)] {
      let later = try process(at: 1.5, breaker: breaker)
      let responses = Responses()
      later.send(try later.request(), into: responses)
      #expect(responses.last?.code == code && started(later).isEmpty == (code != nil))
    }
  }

  @Test("learned limits are kept as of the last refusal, for processes that learn, and expire")
  func learned() throws {
    let policy = AdaptivePolicy(initialRequests: 4)
    func learning(at seconds: Double) throws -> Bench {
      let bench = try process(at: seconds)
      bench.dispatcher.updateLimits { $0.adaptive = policy }
      return bench
    }
    let bench = try learning(at: 0)
    let responses = Responses()
    for _ in 0..<4 {
      bench.send(try bench.request(), into: responses)
      bench.clock.advance(by: .milliseconds(10))
    }
    // The last one first: the first one was alone, and exceeded nothing.
    for one in started(bench).reversed() { one.respond(429) }
    let text = String(decoding: folder.bytes("state/a:80") ?? [], as: UTF8.self)
    #expect(text.contains("\nserver learned ") && !text.contains("paused"), "\(text)")
    let entry = try #require(bench.dispatcher.gate.learned.entries["a:80"])
    let later = try learning(at: 60)
    later.send(try later.request(), into: responses)
    #expect(later.dispatcher.gate.learned.entries["a:80"]?.requests == entry.requests)
    #expect(later.dispatcher.gate.learned.entries["a:80"]?.rate == entry.rate)
    // It begins no higher than a process that remembers nothing.
    let cautious = try process(at: 60)
    cautious.dispatcher.updateLimits { $0.adaptive = AdaptivePolicy(initialRequests: 1) }
    for _ in 0..<4 { cautious.send(try cautious.request(), into: responses) }
    #expect(entry.requests > 1 && started(cautious).count == 1)
    let last = try learning(at: 601)
    last.send(try last.request(), into: responses)
    #expect(last.dispatcher.gate.learned == LearnedLimits())
  }

  @Test("20 a minute hold over 30 restarts in three minutes, each of which is killed with requests on their way")
  func restarts() throws {
    var starts: [Double] = []
    for run in 0..<30 {
      let begin = Double(run) * 6
      let bench = try process(at: begin, rates: [Rate("20/min")])
      let responses = Responses()
      for _ in 0..<30 { bench.send(try bench.request(), into: responses) }
      for tick in 0..<60 {
        for one in started(bench) {
          starts.append(begin + Double(tick) / 10)
          one.respond()
        }
        bench.clock.advance(by: .milliseconds(100))
      }
    }
    for last in starts.indices.dropFirst(20) { #expect(starts[last] - starts[last - 20] > 60) }
    #expect(starts.count >= 40)
  }

  @Test(
    "a request that waits for the window of other processes has the rate as its reason, and starts when there is room")
  func waits() throws {
    let rate = try Rate("2/min")
    let first = try process(rates: [rate])
    let responses = Responses()
    for _ in 0..<2 { first.send(try first.request(), into: responses) }
    #expect(started(first).count == 2)
    let bench = try process(at: 10, rates: [rate])
    #expect(bench.dispatcher.gate.tryPermit(for: try EndPoint("http://a/")) == nil && bench.counts.waiting == 0)
    let request = bench.send(try bench.request(), into: responses)
    #expect(started(bench).isEmpty && request.waitReason?.description.hasPrefix("2/min, next in 5") == true)
    #expect(bench.counts.waiting == 1 && bench.counts.running == 0)
    bench.clock.advance(by: .seconds(51))
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .seconds(2))
    let one = try #require(started(bench).first)
    one.respond()
    #expect(bench.isClean())
  }

  @Test("a request that is cancelled, or whose gate closes, while it waits for the window leaves nothing behind")
  func cancelled() throws {
    let rate = try Rate("1/min")
    let responses = Responses()
    let first = try process(rates: [rate])
    first.send(try first.request(), into: responses)
    #expect(started(first).count == 1)
    let bench = try process(at: 1, rates: [rate])
    bench.send(try bench.request(), into: responses).cancel()
    #expect(responses.last?.code == .cancelled && bench.isClean())
    bench.send(try bench.request(), into: responses)
    bench.dispatcher.beginShutDown(.graceful)
    #expect(responses.last?.code == .shutDown && bench.isClean())
  }

  @Test("a start that was counted, but was not sent, is given back to the same process")
  func unsent() throws {
    let bench = try process(rates: [Rate("1/h")])
    let responses = Responses()
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    let first = try #require(started(bench).first)
    // What ends while it waits for a socket was not sent.
    first.startSocketWait()
    first.end(DispatchError(.connectFailed, phase: .connecting))
    let second = try #require(started(bench).first)
    second.respond()
    bench.send(try bench.request(), into: responses)
    #expect(started(bench).isEmpty && bench.counts.waiting == 1)
  }

  @Test("a process believes its own pause no longer than it lasts, and its answer ends it for later ones, however late")
  func late() throws {
    let bench = try process()
    try refuse(bench, for: 3600)
    // The longest pause is over, and a minute more, after which nothing else is remembered.
    bench.clock.advance(by: .seconds(900))
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    started(bench).first?.respond()
    #expect(try responses.last?.get().statusCode == 200 && files.isEmpty)
  }

  @Test("the patience of a process bounds what it waits because of an earlier one")
  func impatient() throws {
    try refuse(process(), for: 300)
    let bench = try process(at: 1, pauses: PausePolicy(jitter: 0, patience: .seconds(60)))
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    #expect(responses.last?.code == .refusing && bench.isClean())
  }

  @Test("a redirect to an end-point that is closed for longer than a process may wait is refused")
  func redirect() throws {
    try refuse(process(), for: 3600)
    let bench = try process(at: 1)
    let responses = Responses()
    bench.send(try bench.request(host: "b"), into: responses)
    started(bench).first?.respond(302, [.location: "http://a/x"])
    #expect(responses.last?.code == .refusing && bench.isClean())
  }
}
