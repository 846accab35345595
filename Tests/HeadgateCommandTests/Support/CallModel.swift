import HeadgateReport
import HeadgateTesting

@testable import HeadgateCommand

/// A run of calls, its journal, its results and the server, each of which may end at any moment, and additional
/// knowledge about them.
struct CallModel {
  /// A file, its length on disk, and the length that was synced explicitly: that part is not torn any more.
  private struct File {
    var bytes: [UInt8]
    var synced = 0
    var waited = 0

    mutating func sync() { (synced, waited) = (bytes.count, bytes.count) }

    /// The process ends: a line that was not waited for may be torn.
    mutating func tear(_ random: inout SeededRandom) {
      bytes.removeLast(Int.random(in: 0...(bytes.count - waited), using: &random))
    }

    /// The machine ends: unsynced data may be lost, or be zeros.
    mutating func cut(_ random: inout SeededRandom) {
      bytes.removeLast(Int.random(in: 0...(bytes.count - synced), using: &random))
      if bytes.count > synced, Bool.random(using: &random) {
        let place = Int.random(in: synced..<bytes.count, using: &random)
        for index in place..<bytes.count { bytes[index] = 0 }
      }
      (synced, waited) = (bytes.count, bytes.count)
    }
  }

  private enum Step { case planned, noted, sent, answered(CallOutcome), written }

  private struct Work {
    let key: RowKey
    let results: Int
    var step = Step.planned
  }

  static let run = "0123456789abcdef"

  let mayRepeat: Bool
  /// The rows' contents, including equal ones.
  private var rows: [RowContent]
  private var random: SeededRandom
  private var journal = File(
    bytes: Array((CallEvent.header + "\n" + CallEvent.began(run: run, requests: "d").line).utf8))
  private var results = File(bytes: [])
  private var state = CallState()
  private var waiting: [RowKey] = []
  private var work: [Work] = []
  /// The number of processed requests of each row at the server: by its key, if it has one.
  private(set) var effects: [RowKey: Int] = [:]
  private(set) var sends: [RowKey: Int] = [:]

  init(seed: Int, mayRepeat: Bool) {
    random = SeededRandom(seed: UInt64(seed))
    self.mayRepeat = mayRepeat
    rows = (0..<6).map { RowContent(.number("\($0 / 2 * ($0 % 3))")) }
    journal.sync()
    start()
  }

  var keys: Set<RowKey> { Set(Self.keys(rows)) }

  private static func keys(_ rows: [RowContent]) -> [RowKey] {
    var equal: [RowContent: Int] = [:]
    return rows.map { content in
      defer { equal[content, default: 0] += 1 }
      return RowKey(run: run, content: content, occurrence: equal[content] ?? 0)
    }
  }

  /// The results by row, as a reader sees them; every line must be a result.
  func lines() -> [RowKey: [CallOutcome]]? {
    var lines: [RowKey: [CallOutcome]] = [:]
    for line in results.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
      guard let result = ResultLine(line) else { return nil }
      lines[result.key, default: []].append(result.outcome)
    }
    return results.bytes.isEmpty || results.bytes.last == UInt8(ascii: "\n") ? lines : nil
  }

  /// A run begins with the state on disk, and a list in another order.
  private mutating func start() {
    state = CallState()
    var scan = ResultsScan()
    var read: [ResultLine] = []
    scan.add(results.bytes) { read.append($0) }
    results.bytes.removeLast(scan.count - scan.end)
    results.synced = min(results.synced, scan.end)
    results.waited = min(results.waited, scan.end)
    for line in read { state.apply(line) }
    if let (lines, isTorn) = JournalFile.lines(journal.bytes, CallEvent.header) {
      for line in lines { CallEvent(line).map { state.apply($0) } }
      if isTorn { journal.bytes.append(UInt8(ascii: "\n")) }
    }
    journal.bytes += Array(CallEvent.began(run: Self.run, requests: "d").line.utf8)
    journal.sync()
    rows.shuffle(using: &random)
    (waiting, work) = (Self.keys(rows), [])
  }

  private func line(_ key: RowKey, _ outcome: CallOutcome) -> [UInt8] {
    var line = JSONLine()
    ResultLine(key: key, outcome: outcome, error: outcome == .ok ? nil : "e\"").add(to: &line)
    return Array(line.line.utf8)
  }

  /// One step of one row. False: the run has ended.
  mutating func step() -> Bool {
    guard !waiting.isEmpty || !work.isEmpty else { return false }
    if work.isEmpty || work.count < 3 && !waiting.isEmpty && Bool.random(using: &random) { return begin() }
    let index = Int.random(in: 0..<work.count, using: &random)
    var current = work[index]
    let key = current.key
    switch current.step {
    case .planned where !mayRepeat:
      journal.bytes += Array(CallEvent.sending(key, results: current.results).line.utf8)
      current.step = .noted
    case .noted where journal.waited < journal.bytes.count: journal.sync()
    case .planned, .noted:
      sends[key, default: 0] += 1
      current.step = .sent
      // The connection broke before the server had the whole request.
      if Int.random(in: 0..<5, using: &random) == 0 {
        current.step = mayRepeat ? .planned : .answered(.unknown)
      } else {
        effects[key] = mayRepeat ? 1 : effects[key, default: 0] + 1
      }
    case .sent:
      // Or after it had.
      let isLost = Int.random(in: 0..<5, using: &random) == 0
      current.step = !isLost ? .answered(.ok) : mayRepeat ? .planned : .answered(.unknown)
    case .answered(let outcome):
      results.bytes += line(key, outcome)
      current.step = .written
    case .written:
      results.sync()
      work.remove(at: index)
      return true
    }
    work[index] = current
    return true
  }

  private mutating func begin() -> Bool {
    let key = waiting.removeFirst()
    switch state.plan(key, CallState.Leave()) {
    // Its rows have one page.
    case .complete, .before, .goOn: break
    case .send(let results, _): work.append(Work(key: key, results: results))
    case .unknown: work.append(Work(key: key, results: 0, step: .answered(.unknown)))
    }
    return true
  }

  mutating func kill() {
    journal.tear(&random)
    results.tear(&random)
    start()
  }

  mutating func cutPower() {
    journal.cut(&random)
    results.cut(&random)
    start()
  }
}
