#if canImport(Glibc)
import Dispatch
import Glibc
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import HeadgateURLSession
import Testing

/// Everything at once, over each transport, in a separate process, with counts at the server. `make soak` runs it for
/// minutes.
@Suite struct ChaosTests {
  @Test(
    "chaos: the server never counts more than the limits, every request ends once, and nothing is left",
    arguments: TransportOnTrial.all)
  func chaos(_ trial: TransportOnTrial) async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      [name = trial.testDescription as String] in
      let trial = try #require(TransportOnTrial.all.first { $0.testDescription == name })
      let seconds = getenv("HEADGATE_CHAOS_SECONDS").flatMap { Int(String(cString: $0)) } ?? 2
      ChaosTests.say(try await ChaosTests.chaos(over: trial, seconds: seconds))
      exit(0)
    }
    let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("problem: ") } == [])
    let summary = try #require(lines.first { $0.hasPrefix("chaos: ") })
    print("\(summary) over \(trial.testDescription)")
  }

  /// A short storm, so that objects made once for the process exist, then the counted one. Reports violations line by
  /// line, and a summary.
  private static func chaos(over trial: TransportOnTrial, seconds: Int) async throws -> [String] {
    try callRelief()
    var (lines, _) = try await round(trial, .seconds(min(seconds, 10)) / 4, seed: 1, isRecorded: true)
    let before = await ProcessCensus.settled()
    // The record of a long storm would fill the memory.
    let (problems, requests) = try await round(trial, .seconds(seconds), seed: 2, isRecorded: seconds <= 30)
    lines += problems
    // Allocators keep some memory, and so do types on first use.
    let mostBytes = before.bytes + trial.keptBytes * requests + 1 << 19
    func isClean(_ now: ProcessCensus) -> Bool {
      now.threads <= before.threads && now.descriptors <= before.descriptors
    }
    let after = await ProcessCensus.settled { isClean($0) && $0.bytes <= mostBytes }
    let states = "before \(before); after \(after)"
    if !isClean(after) { lines.append("problem: left behind: \(states)") }
    if after.bytes > mostBytes { lines.append("problem: memory left behind: \(states)") }
    return lines + ["chaos: \(requests) requests in \(seconds) s; \(states)"]
  }

  /// Starts more requests than one caller delivers. The process then makes the thread that takes over deliveries, which
  /// a long storm needs and a short one may not.
  private static func callRelief() throws {
    let gate = EndPointGate()
    let endPoint = try EndPoint(host: "relief.example", port: 80)
    let count = 200
    let left = DispatchGroup()
    gate.setLimits(try EndPointLimits(requests: count), for: endPoint)
    gate.stop(endPoint)
    for _ in 0..<count {
      left.enter()
      _ = gate.requestPermit(for: endPoint) { result in
        if case .success(let permit) = result { permit.release() }
        left.leave()
      }
    }
    gate.resume(endPoint)
    left.wait()
  }

  private static func round(
    _ trial: TransportOnTrial, _ duration: Duration, seed: UInt64, isRecorded: Bool
  ) async throws -> (problems: [String], requests: Int) {
    var problems: [String] = []
    func hold(_ isRight: Bool, _ what: @autoclosure () -> String) {
      if !isRight { problems.append("problem: " + what()) }
    }
    let origin = try Origin(endPoints: Storm.endPoints)
    let transport = try trial.make()
    let recording = RecordingObserver()
    var limits = try GateLimits(
      endPoint: EndPointLimits(requests: Storm.highestLimit), total: 60, waiting: 500, overflow: .wait)
    // Its servers answer 503 all the time. With pauses there would hardly be a storm.
    limits.pauses = nil
    weak var ended: URLDispatcher?
    let requests: Int
    do {
      let dispatcher = URLDispatcher(transport: transport, limits: limits, observers: isRecorded ? [recording] : [])
      ended = dispatcher
      let storm = Storm(origin, dispatcher, until: .after(duration), seed: seed, sparing: trial.spared)
      await storm.run()
      // A request that was cancelled on its way to another end-point may leave the queue after its caller was told.
      hold(await soon { dispatcher.gate.counts.waiting == 0 }, "\(dispatcher.gate.counts.waiting) wait")
      await dispatcher.shutDown(.drain)
      let counts = dispatcher.gate.counts
      hold(counts.running == 0 && counts.waiting == 0 && counts.endPoints == 0, "the gate holds \(counts)")
      requests = storm.submitted
      hold(requests == storm.ended, "\(requests) requests, \(storm.ended) ends")
    }
    hold(await soon { ended == nil }, "the dispatcher lives on")
    hold(recording.violations.isEmpty, "observers were told \(recording.violations.prefix(5))")
    hold(recording.unfinished == 0, "observers miss \(recording.unfinished) ends")
    // A thread may be about to cancel a timer that came too late for its request.
    hold(
      await soon { ThreadDump.text().contains("timer thread \"headgate-limits\": 0 timers\n") },
      "limits on time are left:\n\(ThreadDump.text())")
    for place in 0..<Storm.endPoints {
      let (counts, limit) = (origin.counts(endPoint: place), Storm.limit(of: place))
      hold(counts.peakRequests <= limit, "\(counts.peakRequests) requests at the limit \(limit)")
      if trial.capabilities.contains(.socketLimits) {
        hold(counts.peakSockets <= limit, "\(counts.peakSockets) sockets at the limit \(limit)")
      }
      hold(
        await origin.waitUntil({ $0.sockets == 0 }, endPoint: place, until: .after(.seconds(60))),
        "\(origin.counts(endPoint: place).sockets) sockets stay open")
    }
    origin.stop()
    return (problems, requests)
  }

  /// Whether a condition holds within a minute. For what nothing reports.
  private static func soon(_ condition: () -> Bool) async -> Bool {
    let bound = Deadline.after(.seconds(60))
    while !condition() {
      guard .now < bound else { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }

  private static func say(_ lines: [String]) {
    let text = Array((lines.joined(separator: "\n") + "\n").utf8)
    _ = write(2, text, text.count)
  }
}

/// Known properties of the libraries under a transport, documented in docs/transports.md.
extension TransportOnTrial {
  /// Faults of a server that crash the process: Foundation on Linux traps when a head breaks off.
  fileprivate var spared: Set<String> { testDescription == "URLSession" ? ["/torn"] : [] }

  /// How many bytes each request may leave. Over libcurl the bound is smaller than any leaked object of the dispatcher
  /// or the transport. Foundation keeps 100 to 300 bytes per request, in programs without Headgate too.
  fileprivate var keptBytes: Int { testDescription == "URLSession" ? 320 : 16 }
}

extension ProcessCensus {
  /// The census after two seconds, since ending threads need a while.
  fileprivate static func settled() async -> ProcessCensus {
    try? await Task.sleep(for: .seconds(2))
    return now
  }

  /// The census once it is as expected, or after half a minute. A libdispatch thread ends when it has been idle for
  /// five seconds, and each look wakes one of them, so later looks are farther apart than that.
  fileprivate static func settled(_ isEnough: (ProcessCensus) -> Bool) async -> ProcessCensus {
    for pause in Array(repeating: Duration.milliseconds(50), count: 40) + Array(repeating: .seconds(7), count: 4) {
      let census = now
      if isEnough(census) { return census }
      try? await Task.sleep(for: pause)
    }
    return now
  }
}
#endif
