/// One limit that is searched for: what holds now, and the lowest value that was refused lately. A value with no clock.
///
/// It falls by a share of itself, rises quickly to just below what was refused, and beyond that in steps that double as long as
/// nothing is refused.
struct LearnedValue: Sendable {
  /// What holds.
  private(set) var value: Double
  /// The lowest that was refused, until something higher was accepted.
  private(set) var bound: Double?
  /// The highest of what held that was accepted.
  private(set) var good: Double
  /// How much of itself it rises by beyond the bound.
  private var step: Double

  private let firstStep: Double
  /// Where whole numbers are meant, the least step.
  private let unit: Double

  /// - Parameters:
  ///   - value: What holds first.
  ///   - bound: What is known to be refused.
  ///   - firstStep: By which share it rises in the first step beyond the bound.
  ///   - unit: The least step; 0: none.
  init(_ value: Double, bound: Double? = nil, firstStep: Double, unit: Double) {
    self.value = value
    self.bound = bound
    good = value
    self.firstStep = firstStep
    self.unit = unit
    // Nothing was refused yet: twice as much each time.
    step = bound == nil ? 1 : firstStep
  }

  /// The highest that is known to be good if the lowest refused one is bad.
  private var plateau: Double? { bound.map { unit > 0 ? max(unit, $0 - unit) : $0 * 0.95 } }

  /// Whether the next rise tries what was refused, or what was never tried.
  var isAtBound: Bool { plateau.map { value >= $0 } ?? true }

  /// Whether it is as high as it gets without a try.
  var isNearBound: Bool { bound.map { value >= (unit > 0 ? $0 - unit : $0 * 0.9) } ?? false }

  /// What holds was accepted.
  mutating func confirm() {
    good = value
    if let bound, value >= bound { self.bound = nil }
  }

  /// What holds was not needed, and nothing is known of it.
  mutating func retreat() { value = min(value, good) }

  /// It rises by a step.
  mutating func rise(atMost ceiling: Double) {
    if let plateau, value < plateau {
      value = min(ceiling, plateau, whole(max(value * 1.15, value + unit)))
      return
    }
    value = min(ceiling, whole(max(value * (1 + step), value + unit)))
    step = min(bound == nil && step == 1 ? 1 : 0.25, 2 * step)
    if let bound, value > bound { self.bound = nil }
  }

  /// It was refused.
  ///
  /// - Parameters:
  ///   - refused: At which value.
  ///   - share: What is left of the lower of that and what holds.
  ///   - floor: The least that holds.
  mutating func fall(refusedAt refused: Double, to share: Double, floor: Double) {
    bound = min(refused, bound ?? refused)
    let next = refused > good ? good : min(value, refused) * share
    value = max(floor, whole(next))
    good = value * share
    step = firstStep
  }

  private func whole(_ value: Double) -> Double { unit > 0 ? value.rounded(.down) : value }
}
