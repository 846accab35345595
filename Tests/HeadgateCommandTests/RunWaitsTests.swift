import HeadgateThreads
import Testing

@testable import HeadgateCommand
@testable import HeadgateDispatch

/// The line of a run that says what its requests waited for, and the advice in it.
@Suite struct RunWaitsTests {
  private let (first, second): (EndPoint, EndPoint)
  private let limits: GateLimits

  init() throws {
    (first, second) = (try EndPoint(host: "a.example", port: 443), try EndPoint(host: "b.example", port: 80))
    limits = try GateLimits(
      endPoint: EndPointLimits(requests: 4, rates: [.spaced(10, per: .seconds(1))]), total: 100)
  }

  private func times(_ waits: [(WaitReason.Kind, Duration)], ran: Duration = .milliseconds(100)) -> DispatchTimes {
    var waited = WaitTimes()
    for (kind, duration) in waits { waited.add(duration.wholeNanoseconds, to: kind) }
    return DispatchTimes(
      queued: waited.total, total: waited.total + ran,
      exchange: ExchangeTimes(connect: .milliseconds(10), firstByte: ran, total: ran), waited: waited)
  }

  private func line(
    _ waits: RunWaits, after elapsed: Duration = .seconds(60), _ limits: GateLimits? = nil, hadTrouble: Bool = false
  ) -> String? {
    waits.line(after: elapsed, limits ?? self.limits, hadTrouble: hadTrouble)
  }

  /// A run that waited only for the limit of a host.
  private func limited(_ count: Int = 100, slower: Double = 1, at endPoint: EndPoint? = nil) -> RunWaits {
    var waits = RunWaits()
    for number in 0..<count {
      let ran = Duration.milliseconds(number < count / 2 ? 100 : 100 * slower)
      waits.add(times([(.limit, .seconds(2))], ran: ran), at: endPoint ?? first)
    }
    return waits
  }

  @Test func `The line has the whole time and each cause, the longest first, with the numbers that are set`() {
    var waits = RunWaits()
    waits.add(times([(.limit, .seconds(918)), (.rate, .seconds(1000)), (.paused, .seconds(245))]), at: first)
    waits.add(times([(.rate, .seconds(897))]), at: second)
    #expect(line(waits) == "waited 51 min 0 s: 62 % rate 10/s, 30 % limit 4/4, 8 % pauses")
  }

  @Test func `A number that is not the same at all hosts is not shown`() throws {
    var waits = RunWaits()
    for endPoint in [first, second] { waits.add(times([(.limit, .seconds(50))]), at: endPoint) }
    #expect(line(waits) == "waited 1 min 40 s: 100 % limit 4/4")
    var others = limits
    others.overrides[second] = try EndPointLimits(requests: 2)
    #expect(line(waits, others) == "waited 1 min 40 s: 100 % limit")
  }

  @Test func `A number is not shown if another one may have been learned, or if a group has a rate`() throws {
    var waits = RunWaits()
    waits.add(times([(.rate, .seconds(30)), (.limit, .seconds(20)), (.scope, .seconds(10))]), at: first)
    #expect(line(waits) == "waited 60 s: 50 % rate 10/s, 33 % limit 4/4, 17 % limits of groups")
    var others = limits
    others.scopes[.group("g")] = try ScopeLimits(rates: [.spaced(3, per: .seconds(1))])
    #expect(line(waits, others) == "waited 60 s: 50 % rate, 33 % limit 4/4, 17 % limits of groups")
    others.adaptive = AdaptivePolicy()
    #expect(line(waits, others) == "waited 60 s: 50 % rate, 33 % limit, 17 % limits of groups")
  }

  @Test func `A request that was redirected may have waited at either host`() throws {
    var others = limits
    others.overrides[second] = try EndPointLimits(requests: 2)
    var waits = limited(at: first)
    #expect(line(waits, others) == "waited 3 min 20 s: 100 % limit 4/4; --per-host 8 would help")
    waits.add(times([(.limit, .seconds(2))]), at: first, answeredBy: second)
    #expect(line(waits, others) == "waited 3 min 22 s: 100 % limit")
    #expect(line(waits) == "waited 3 min 22 s: 100 % limit 4/4")
  }

  @Test func `There is no line for a short run, and none for a run that waited for less time than it ran`() {
    #expect(line(limited()) != nil)
    #expect(line(limited(), after: .seconds(9)) == nil)
    #expect(line(RunWaits()) == nil)
    var waits = RunWaits()
    waits.add(times([(.limit, .seconds(20))], ran: .seconds(21)), at: first)
    #expect(line(waits) == nil)
  }

  @Test func `A higher limit is advised if all of its proof is there`() throws {
    #expect(line(limited()) == "waited 3 min 20 s: 100 % limit 4/4; --per-host 8 would help")
    var others = limits
    others.overrides[first] = try EndPointLimits(requests: 3)
    #expect(line(limited(), others)?.hasSuffix("; --limit a.example:443=6 would help") == true)
  }

  @Test func `Without one part of the proof, nothing is advised`() throws {
    func isAdvised(_ waits: RunWaits, _ limits: GateLimits? = nil, hadTrouble: Bool = false) -> Bool {
      line(waits, limits, hadTrouble: hadTrouble)?.contains("would help") ?? false
    }
    #expect(isAdvised(limited()) && isAdvised(limited(slower: 1.05)))
    #expect(!isAdvised(limited(), hadTrouble: true))
    #expect(!isAdvised(limited(39)))
    #expect(!isAdvised(limited(slower: 1.3)))
    var learning = limits
    learning.adaptive = AdaptivePolicy()
    #expect(!isAdvised(limited(), learning))
    // Twice the limit is more than all hosts together may have.
    #expect(!isAdvised(limited(), try GateLimits(endPoint: EndPointLimits(requests: 4), total: 7)))
    var failed = limited()
    failed.add(DispatchError(.connectionLost), at: first)
    #expect(!isAdvised(failed))
    var mixed = limited()
    mixed.add(times([(.rate, .seconds(30))]), at: first)
    #expect(!isAdvised(mixed))
    var two = limited()
    two.add(times([(.limit, .seconds(30))]), at: second)
    #expect(!isAdvised(two))
  }

  @Test func `Many answers take no more memory, and their halves are still compared`() {
    var (steady, rising) = (AnswerTrend(), AnswerTrend())
    for number in 0..<100_000 {
      steady.add(number % 7 == 0 ? 0.2 : 0.1)
      rising.add(0.1 + Double(number) / 100_000)
    }
    #expect(steady.isSteady && !rising.isSteady && !AnswerTrend().isSteady)
  }

  @Test(arguments: [FetchOptions.Verbosity.normal, .quiet])
  func `The line is above the summary, which stays the last one, and with -q there is neither`(
    verbosity: FetchOptions.Verbosity
  ) async throws {
    let folder = try TemporaryFolder()
    let descriptor = try Descriptor.create(folder.file("messages"))
    defer { Descriptor.close(descriptor) }
    let report = Report(LineWriter(descriptor, on: LaneCrew(name: "messages", size: 1)), verbosity)
    _ = await report.finish("waited 1 min 40 s: 100 % limit 4/4") { _ in "ok 1" }
    let lines = "waited 1 min 40 s: 100 % limit 4/4\nok 1\n"
    #expect(folder.text(of: "messages") == (verbosity == .quiet ? "" : lines))
  }
}
