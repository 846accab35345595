import HeadgateTesting
import Testing

@testable import HeadgateReport

@Suite struct RunTests {
  @Test(arguments: 1...20) func `The counts of steps equal a count at every moment`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let steps = Int.random(in: 1...12, using: &random)
    // Whole numbers, so that the middle moments are exact.
    let length = Double(steps * 4)
    let spans = (0..<Int.random(in: 0...40, using: &random)).map { _ -> (start: Double, end: Double) in
      let start = Double(Int.random(in: 0..<Int(length), using: &random))
      return (start, start + Double(Int.random(in: 0...6, using: &random)))
    }
    let counts = StepCounts(spans, length: length, steps: steps)
    for step in 0..<steps {
      let moments = (0..<4).map { Double(step * 4 + $0) + 0.5 }
      let running = moments.map { moment in spans.count { $0.start < moment && moment < $0.end } }
      #expect(counts.most[step] == running.max())
      #expect(abs(counts.mean[step] - Double(running.reduce(0, +)) / 4) < 1e-9)
    }
  }

  @Test func `A request that follows another at the same moment does not overlap it`() {
    #expect(StepCounts([(0, 1), (1, 2), (2, 3)], length: 3, steps: 3).most == [1, 1, 1])
  }

  @Test func `Quantiles and classes of times`() {
    let times = LatencyDistribution((1...1000).map { Double($0) / 1000 })
    #expect(times.median == 0.501)
    #expect(times.p99 == 0.991)
    #expect(times.longest == 1)
    #expect(times.counts.reduce(0, +) == 1000)
    #expect(LatencyDistribution([0, 1e9]).counts.first == 1)
    #expect(LatencyDistribution([0, 1e9]).counts.last == 1)
    #expect(LatencyDistribution([]).median == 0)
  }

  @Test func `The runs of a session follow one another in its log`() throws {
    func record(_ start: Double, _ time: String) -> [String: Any] {
      [
        "start": start, "total": 2, "time": time, "attempts": 1, "end_point": "a.example:80",
        "exchanges": [["end_point": "a.example:80", "start": start, "end": start + 2, "status": 200, "limit": 1]],
      ]
    }
    let run = RunSummary(
      Samples.log(
        record(0, "2026-11-29T12:00:02.000Z"), record(2, "2026-11-29T12:00:04.001Z"),
        record(0, "2026-11-29T12:01:02.000Z"), record(2, "2026-11-29T12:01:04.000Z")))
    #expect(run.endPoints.first?.peak == 1)
    #expect(run.rows.map(\.start) == [0, 2, 60, 62])
    #expect(abs(run.length - 64) < 0.01)
  }

  @Test func `A record that is late by waits between its attempts is no new run`() {
    let run = RunSummary(
      Samples.log(
        ["start": 0, "sent": 0, "ran": 0.1, "total": 0.1, "time": "2026-11-29T12:00:00.100Z"],
        ["start": 0, "sent": 6.9, "ran": 0.1, "total": 0.3, "time": "2026-11-29T12:00:07.000Z"],
        ["start": 6, "sent": 6, "ran": 1, "total": 0.1, "time": "2026-11-29T12:00:09.000Z"],
        ["start": 8, "sent": 8, "ran": 1, "total": 1, "time": "2026-11-29T12:00:09.100Z"]))
    #expect(run.rows.map(\.start).max() == 8)
  }

  @Test func `A retry and a redirect count where they were sent, and waits where they waited`() throws {
    let run = RunSummary(
      Samples.log([
        "start": 0, "sent": 4, "attempts": 2, "total": 5,
        "exchanges": [
          ["end_point": "a.example:80", "start": 1, "end": 2, "status": 429, "limit": 4],
          ["end_point": "b.example:80", "start": 4, "end": 5, "status": 200, "limit": 2],
        ],
        "end_point": "b.example:80",
        "pauses": [
          ["end_point": "a.example:80", "at": 2, "until": 3, "reason": "paused 1.0 s by 429"],
          ["end_point": "a.example:80", "at": 2.5, "until": 6, "reason": "paused 3.5 s by 429"],
        ],
      ]))
    let a = try #require(run.endPoints.first { $0.name == "a.example:80" })
    let b = try #require(run.endPoints.first { $0.name == "b.example:80" })
    #expect((a.exchanges, b.exchanges, a.count, b.count) == (1, 1, 0, 1))
    #expect((a.limit, b.limit) == (4, 2))
    #expect(a.pauses.count == 1)
    #expect(a.pauses.first?.until == 6)
    // The run's end cuts it.
    #expect(a.pausedSeconds == 3)
    #expect(b.waiting.max() == 1)
  }

  @Test func `An end-point of a single request has a row in place of a chart, unless it is the only one`() {
    func charts(_ hosts: String...) -> [String] {
      let run = RunSummary(Samples.log(hosts.map { Samples.line(["end_point": "\($0):80", "attempts": 1]) }))
      return run.endPoints.filter { $0.running.count == EndPointCourse.steps }.map(\.name)
    }
    #expect(charts("a", "b", "b", "c", "c", "c") == ["c:80", "b:80"])
    #expect(charts("a", "b") == ["a:80"])
  }

  @Test func `A request without a response is not shown as answered before its end`() {
    let run = RunSummary(
      Samples.log([
        "status": Samples.null, "error": "timed_out", "first_byte": Samples.null, "queued": 0, "start": 0, "sent": 0,
        "ran": 30, "total": 30,
      ]))
    #expect(run.rows.map(\.answered) == [30])
    #expect(run.rows.map(\.end) == [30])
  }

  @Test func `Outcomes are distinguished`() {
    let run = RunSummary(
      Samples.log(
        [:], ["error": "timed_out", "status": Samples.null], ["error": "cancelled"],
        ["attempts": 0, "status": Samples.null, "total": Samples.null]))
    #expect(run.count(.ok) == 1)
    #expect(run.count(.failed) == 1)
    #expect(run.count(.skipped) == 1)
    #expect(run.count(.there) == 1)
  }

  @Test func `An empty log is an empty page`() throws {
    let data = try Samples.data(RunSummary(RunLog()))
    #expect((data["endPoints"] as? [Any])?.isEmpty == true)
  }

  @Test func `The causes of all waits are summed up, the longest first, and strange ones are ignored`() throws {
    let run = RunSummary(
      Samples.log(
        ["waited": ["limit": 2, "paused": 3.5]], ["waited": ["limit": 4]],
        ["waited": ["rate": -1, "x": "y"] as [String: Any]],
        ["waited": Samples.null], ["waited": [1, 2]], [:]))
    #expect(run.waited == [.init(cause: "limit", seconds: 6), .init(cause: "paused", seconds: 3.5)])
    let waited = try #require(try Samples.data(run)["waited"] as? [[Any]])
    #expect(waited.compactMap { $0.first as? String } == ["limit", "paused"])
    #expect(waited.compactMap { $0.last as? Int } == [60_000, 35_000])
  }

  @Test func `A log with more causes than there are shows sixteen of them`() {
    let causes = Dictionary(uniqueKeysWithValues: (1...100).map { ("cause\($0)", Double($0)) })
    #expect(
      RunSummary(Samples.log(["waited": causes])).waited.map(\.seconds) == (85...100).reversed().map { Double($0) })
  }
}
