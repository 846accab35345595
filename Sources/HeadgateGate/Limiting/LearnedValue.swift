/// The search for one limit: its current value, and the lowest value refused recently. A value without a clock.
///
/// A refusal multiplies it by a fraction. Then it rises quickly to just below the refused value, and beyond that in
/// steps that double as long as nothing is refused.
struct LearnedValue: Sendable {
  /// The current value.
  private(set) var value: Double
  /// The lowest refused value, until a higher one was accepted.
  private(set) var bound: Double?
  /// The highest accepted value.
  private(set) var good: Double
  /// The fraction by which it rises beyond the bound.
  private var step: Double

  private let firstStep: Double
  /// The minimum step, for whole numbers.
  private let unit: Double

  /// - Parameters:
  ///   - value: The initial value.
  ///   - bound: A value known to be refused.
  ///   - firstStep: The fraction by which it rises in the first step beyond the bound.
  ///   - unit: The minimum step; 0 for none.
  init(_ value: Double, bound: Double? = nil, firstStep: Double, unit: Double) {
    self.value = value
    self.bound = bound
    good = value
    self.firstStep = firstStep
    self.unit = unit
    // Doubles each time until something is refused.
    step = bound == nil ? 1 : firstStep
  }

  /// The highest value that is good, given that the bound is bad.
  private var plateau: Double? { bound.map { unit > 0 ? max(unit, $0 - unit) : $0 * 0.95 } }

  /// Whether the next rise tries a value that was refused, or that was never tried.
  var isAtBound: Bool { plateau.map { value >= $0 } ?? true }

  /// Whether it is as high as it gets without a try.
  var isNearBound: Bool { bound.map { value >= (unit > 0 ? $0 - unit : $0 * 0.9) } ?? false }

  /// The current value was accepted.
  mutating func confirm() {
    good = value
    if let bound, value >= bound { self.bound = nil }
  }

  /// The current value was not needed, so nothing is known about it.
  mutating func retreat() { value = min(value, good) }

  /// Rises by a step.
  mutating func rise(atMost ceiling: Double) {
    if let plateau, value < plateau {
      value = min(ceiling, plateau, whole(max(value * 1.15, value + unit)))
      return
    }
    value = min(ceiling, whole(max(value * (1 + step), value + unit)))
    step = min(bound == nil && step == 1 ? 1 : 0.25, 2 * step)
    if let bound, value > bound { self.bound = nil }
  }

  /// The value was refused.
  ///
  /// - Parameters:
  ///   - refused: The actual value at the refusal.
  ///   - share: The fraction that remains of the lower of `refused` and the current value.
  ///   - floor: The minimum.
  mutating func fall(refusedAt refused: Double, to share: Double, floor: Double) {
    bound = min(refused, bound ?? refused)
    let next = refused > good ? good : min(value, refused) * share
    value = max(floor, whole(next))
    good = value * share
    step = firstStep
  }

  private func whole(_ value: Double) -> Double { unit > 0 ? value.rounded(.down) : value }
}
