/// How many URLs end in a second, over the last while: long enough to be calm, short enough to notice a pause.
struct ProgressRate: Equatable, Sendable {
  static let window = 15.0

  private var samples: [(seconds: Double, count: Int)] = []

  static func == (left: ProgressRate, right: ProgressRate) -> Bool {
    left.samples.elementsEqual(right.samples) { $0 == $1 }
  }

  /// Nil while a second has not passed, or nothing has ended.
  private(set) var value: Double?

  /// - Parameters:
  ///   - count: URLs that ended, those left out that were there before.
  ///   - seconds: Since the beginning; never less than before.
  mutating func add(_ count: Int, at seconds: Double) {
    samples.append((seconds, count))
    // One older than the window stays, so that the window is full.
    while samples.count > 2, samples[1].seconds <= seconds - Self.window { samples.removeFirst() }
    let first = samples[0]
    guard seconds - first.seconds >= 1, count > 0 else { return value = nil }
    value = Double(count - first.count) / (seconds - first.seconds)
  }
}
