/// The course of one end-point over the run, in steps of equal length.
struct EndPointCourse: Equatable, Sendable {
  /// The number of steps in a chart: more would exceed the resolution of a screen.
  static let steps = 320
  /// The number of end-points with a chart: those with the most exchanges.
  static let mostCharts = 60

  let name: String
  /// The URLs that ended there, and the number of failed ones among them.
  let count: Int
  let failed: Int
  let bytes: Int
  /// The number of exchanges, including retries and redirects.
  let exchanges: Int
  /// The maximum number of running and of waiting requests.
  let peak: Int
  let longestQueue: Int
  /// The last limit in force. Nil if the log does not contain it.
  let limit: Int?
  /// For each step: the maximum number of running requests, their mean number, the maximum number of waiting requests,
  /// and the limit, which is 0 before it is known.
  let running: [Int]
  let mean: [Double]
  let waiting: [Int]
  let limits: [Int]
  let pauses: [LogRecord.Pause]
  let pausedSeconds: Double
  let latency: LatencyDistribution

  /// The data of an end-point while the log is read.
  struct Collector {
    let name: String
    var count = 0
    var failed = 0
    var bytes = 0
    var exchanges: [LogRecord.Exchange] = []
    var waits: [(start: Double, end: Double)] = []
    var pauses: [LogRecord.Pause] = []

    init(_ name: String) { self.name = name }

    mutating func add(_ row: RunRow) {
      count += 1
      if row.outcome == .failed { failed += 1 }
      if row.outcome == .ok { bytes &+= row.bytes }
    }
  }

  /// - Parameter steps: The number of steps in the run.
  init(_ collected: Collector, length: Double, steps: Int) {
    name = collected.name
    count = collected.count
    failed = collected.failed
    bytes = collected.bytes
    exchanges = collected.exchanges.count
    let ran = StepCounts(collected.exchanges.map { ($0.start, $0.end) }, length: length, steps: steps)
    let waited = StepCounts(collected.waits, length: length, steps: steps)
    (running, mean, waiting) = (ran.most, ran.mean, waited.most)
    peak = ran.most.max() ?? 0
    longestQueue = waited.most.max() ?? 0
    let known = collected.exchanges.filter { $0.limit != nil }.sorted { $0.start < $1.start }
    limit = known.last?.limit
    limits = Self.limits(known, length: length, steps: steps)
    pauses = Self.merged(collected.pauses)
    pausedSeconds = pauses.reduce(0) { $0 + min($1.until, max(length, $1.at)) - $1.at }
    latency = LatencyDistribution(collected.exchanges.compactMap { $0.status == nil ? nil : $0.end - $0.start })
  }

  /// The limit at the end of each step.
  private static func limits(_ known: [LogRecord.Exchange], length: Double, steps: Int) -> [Int] {
    var limits = [Int](repeating: 0, count: steps)
    for exchange in known {
      limits[StepCounts.step(of: exchange.start, length: length, steps: steps)] = exchange.limit ?? 0
    }
    var last = known.first?.limit ?? 0
    for step in limits.indices {
      if limits[step] == 0 { limits[step] = last }
      last = limits[step]
    }
    return limits
  }

  /// A pause that is extended counts as one pause.
  private static func merged(_ pauses: [LogRecord.Pause]) -> [LogRecord.Pause] {
    var merged: [LogRecord.Pause] = []
    for pause in pauses.sorted(by: { $0.at < $1.at }) {
      if let last = merged.last, pause.at <= last.until {
        merged[merged.count - 1].until = max(last.until, pause.until)
      } else {
        merged.append(pause)
      }
    }
    return merged
  }
}
