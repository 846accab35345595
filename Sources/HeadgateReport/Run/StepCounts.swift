/// The number of concurrent spans in each of a number of equal steps.
struct StepCounts: Equatable, Sendable {
  /// The maximum number at any moment of a step. Spans that only touch do not overlap.
  private(set) var most: [Int]
  /// The mean over the length of a step.
  private(set) var mean: [Double]

  /// O(n log n).
  init(_ spans: [(start: Double, end: Double)], length: Double, steps: Int) {
    most = [Int](repeating: 0, count: steps)
    mean = [Double](repeating: 0, count: steps)
    guard length > 0 else { return }
    let spans = spans.filter { $0.end > $0.start && $0.end > 0 && $0.start < length }
    let starts = spans.map { max(0, $0.start) }.sorted()
    let ends = spans.map { min(length, $0.end) }.sorted()
    var (started, ended) = (0, 0)
    var moment = 0.0
    while ended < ends.count {
      let isStart = started < starts.count && starts[started] < ends[ended]
      let next = isStart ? starts[started] : ends[ended]
      fill(from: moment, to: next, with: started - ended, length)
      moment = next
      if isStart { started += 1 } else { ended += 1 }
    }
  }

  /// Adds a count over a period.
  private mutating func fill(from start: Double, to end: Double, with count: Int, _ length: Double) {
    guard end > start, count > 0 else { return }
    let steps = most.count
    let width = length / Double(steps)
    let (first, last) = (
      Self.step(of: start, length: length, steps: steps), Self.step(of: end, length: length, steps: steps)
    )
    for step in first...max(first, last) {
      let (left, right) = (max(start, Double(step) * width), min(end, Double(step + 1) * width))
      guard right > left else { continue }
      most[step] = max(most[step], count)
      mean[step] += Double(count) * (right - left) / width
    }
  }

  static func step(of moment: Double, length: Double, steps: Int) -> Int {
    guard length > 0 else { return 0 }
    return min(steps - 1, max(0, Int(moment / length * Double(steps))))
  }
}
