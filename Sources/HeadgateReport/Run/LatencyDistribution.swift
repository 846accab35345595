/// The time from the request to the end of the response: counts in classes of equal ratio, and quantiles.
struct LatencyDistribution: Equatable, Sendable {
  /// Each class covers 10^(n/8) to 10^((n+1)/8) tenths of a millisecond, in total 0.1 ms to 1,000 s.
  static let classes = 56

  let counts: [Int]
  let count: Int
  /// In seconds; 0 if there was no response.
  let median: Double
  let p90: Double
  let p99: Double
  let longest: Double

  init(_ times: [Double]) {
    let sorted = times.sorted()
    var counts = [Int](repeating: 0, count: Self.classes)
    var place = 0
    var bound = 0.0001
    for number in counts.indices {
      bound *= 1.333_521_432_163_324
      let start = place
      let isLast = number == Self.classes - 1
      while place < sorted.count, isLast || sorted[place] < bound { place += 1 }
      counts[number] = place - start
    }
    self.counts = counts
    count = sorted.count
    func quantile(_ share: Double) -> Double {
      sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }
    (median, p90, p99) = (quantile(0.5), quantile(0.9), quantile(0.99))
    longest = sorted.last ?? 0
  }
}
