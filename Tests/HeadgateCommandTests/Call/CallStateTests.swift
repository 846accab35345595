import HeadgateReport
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// The meaning of a journal and results that end at any position.
@Suite struct CallStateTests {
  private let key = RowKey(run: "r", content: RowContent(.null), occurrence: 0)

  private func state(_ lines: [(CallOutcome, String?)], sending: Int? = nil) -> CallState {
    var state = CallState()
    for (outcome, error) in lines { state.apply(ResultLine(key: key, outcome: outcome, error: error)) }
    if let sending { state.apply(.sending(key, results: sending)) }
    return state
  }

  private func plan(_ state: CallState, failed: Bool = false, unsafe: Bool = false) -> CallState.Plan {
    state.plan(key, CallState.Leave(retriesFailed: failed, retriesUnsafe: unsafe))
  }

  @Test func `Events and the starts of results are read back from their lines`() {
    for event in [CallEvent.began(run: "r\t", requests: "d\n"), .sending(key, results: 3), .unsent(key)] {
      let line = Array(event.line.utf8)
      #expect(CallEvent(line.dropLast()) == event)
      for end in 0..<(line.count - 1) { #expect(CallEvent(line[..<end]) == nil) }
    }
    for (outcome, error) in [(CallOutcome.ok, nil), (.unknown, "outcome_unknown"), (.notSent, "x")] {
      let result = ResultLine(key: key, outcome: outcome, error: error)
      var line = JSONLine()
      result.add(to: &line)
      line.add("body", "a\n}\u{0}")
      let bytes = Array(line.line.utf8)
      #expect(ResultLine(bytes.dropLast()) == result)
      for end in 0..<(bytes.count - 1) where bytes[max(0, end - 1)] != UInt8(ascii: "}") {
        #expect(ResultLine(bytes[..<end]) == nil)
      }
      var zeroed = bytes.dropLast()
      zeroed[zeroed.count - 3] = 0
      #expect(ResultLine(zeroed) == nil)
    }
    for foreign in ["{}", "{\"key\":\"\"}", "", "x", "{\"a\":1}"] {
      #expect(ResultLine(Array(foreign.utf8)[...]) == nil)
    }
  }

  @Test func `A row with a result has ended; a failed one is sent again on request`() {
    #expect(plan(state([])) == .send(results: 0))
    #expect(plan(state([(.ok, nil)]), failed: true, unsafe: true) == .complete)
    #expect(plan(state([(.failed, "http_error")])) == .before(.failed, error: "http_error"))
    #expect(plan(state([(.failed, "http_error")]), failed: true) == .send(results: 1))
    #expect(plan(state([(.notSent, "x")]), failed: true) == .send(results: 1))
    // The last one counts.
    #expect(plan(state([(.failed, "x"), (.ok, nil)]), failed: true) == .complete)
  }

  @Test
  func `A row that may not be sent twice and was in progress is unknown, and sent again only with --retry-unsafe`() {
    #expect(plan(state([], sending: 0)) == .unknown)
    #expect(plan(state([], sending: 0), failed: true) == .unknown)
    #expect(plan(state([], sending: 0), unsafe: true) == .send(results: 0, isInDoubt: true))
    let named = state([(.unknown, "outcome_unknown")], sending: 0)
    #expect(plan(named, failed: true) == .before(.unknown, error: "outcome_unknown"))
    #expect(plan(named, failed: true, unsafe: true) == .send(results: 1, isInDoubt: true))
    // A row that failed, and was in progress again.
    let again = state([(.failed, "x")], sending: 1)
    #expect(plan(again, failed: true) == .unknown)
    #expect(plan(again, failed: true, unsafe: true) == .send(results: 1, isInDoubt: true))
    // The results were removed.
    #expect(plan(state([], sending: 1)) == .unknown)
    var unsent = state([], sending: 0)
    unsent.apply(.unsent(key))
    #expect(plan(unsent) == .send(results: 0))
    // An earlier run may have sent it; a run that was allowed to send it again did not.
    var doubtful = state([], sending: 0)
    doubtful.apply(.sending(key, results: 0))
    doubtful.apply(.unsent(key))
    #expect(plan(doubtful) == .unknown)
  }

  @Test func `Results are cut after the last complete line, for any kind of tear`() {
    var line = JSONLine()
    ResultLine(key: key, outcome: .ok, error: nil).add(to: &line)
    let whole = Array(line.line.utf8)
    func scan(_ bytes: [UInt8], pieces size: Int) -> (found: Int, end: Int?) {
      var (scan, found) = (ResultsScan(), 0)
      for start in stride(from: 0, to: bytes.count, by: size) {
        scan.add(Array(bytes[start..<min(start + size, bytes.count)])) { _ in found += 1 }
      }
      return (found, scan.isOurs ? scan.end : nil)
    }
    for size in [1, 7, 1 << 20] {
      for length in 0...(2 * whole.count) {
        let (found, end) = scan(Array((whole + whole).prefix(length)), pieces: size)
        #expect(found == length / whole.count && end == found * whole.count)
      }
      let zeros = [UInt8](repeating: 0, count: 9)
      #expect(scan(whole + zeros + [0x0A], pieces: size) == (1, whole.count))
      #expect(scan(whole + zeros + [0x0A] + whole, pieces: size) == (2, 2 * whole.count + 10))
      // Lines added by others stay.
      #expect(scan(whole + Array("note\n".utf8), pieces: size) == (1, whole.count + 5))
      for foreign in ["note\n", "note", "{\"id\":1}\n", "{\"keys\":1}"] {
        #expect(scan(Array(foreign.utf8), pieces: size).end == nil, "\(foreign)")
      }
    }
  }

  @Test(arguments: [true, false])
  func `After any end of the process or machine, no result is lost or duplicated, and no row takes effect twice`(
    mayRepeat: Bool
  ) {
    for seed in 0..<400 {
      var model = CallModel(seed: seed, mayRepeat: mayRepeat)
      var random = SeededRandom(seed: UInt64(seed) + 1_000_000)
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        for _ in 0..<Int.random(in: 0...25, using: &random) where !model.step() { break }
        if Bool.random(using: &random) { model.kill() } else { model.cutPower() }
      }
      while model.step() {}
      guard let lines = model.lines() else {
        Issue.record("seed \(seed): a line is torn")
        continue
      }
      #expect(Set(lines.keys) == model.keys && lines.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
      for (key, outcomes) in lines {
        let effects = model.effects[key] ?? 0
        if mayRepeat {
          #expect(effects == 1 && outcomes == [.ok], "seed \(seed)")
        } else {
          #expect(model.sends[key] ?? 0 <= 1 && effects == 1 || outcomes == [.unknown], "seed \(seed)")
          #expect(outcomes != [.ok] || effects == 1, "seed \(seed)")
        }
      }
    }
  }
}
