/// How many URLs end per second, averaged over a window that is long enough to be steady and short enough to show a
/// pause.
struct ProgressRate: Equatable, Sendable {
  static let window = 15.0

  private var samples: [(seconds: Double, count: Int)] = []

  static func == (left: ProgressRate, right: ProgressRate) -> Bool {
    left.samples.elementsEqual(right.samples) { $0 == $1 }
  }

  /// Nil during the first second, and until a URL has ended.
  private(set) var value: Double?

  /// - Parameters:
  ///   - count: URLs that ended, without those that were complete before the run.
  ///   - seconds: The time since the beginning. It never decreases.
  mutating func add(_ count: Int, at seconds: Double) {
    samples.append((seconds, count))
    // Keeps one sample older than the window, so that the window is full.
    while samples.count > 2, samples[1].seconds <= seconds - Self.window { samples.removeFirst() }
    let first = samples[0]
    guard seconds - first.seconds >= 1, count > 0 else { return value = nil }
    value = Double(count - first.count) / (seconds - first.seconds)
  }
}
