/// How soon a request starts, among those that wait for the same end-point in the same lane.
///
/// Each step is worth a span of waiting (``GateLimits/ageing``, ten seconds unless set): an urgent request overtakes a
/// normal one unless that has waited twenty seconds longer. So nobody starves: whoever waits grows older, and those who
/// come later than the steps are worth stand behind. Among equals it is first come, first served.
public struct RequestPriority: Hashable, Comparable, Sendable, CaseIterable, CustomStringConvertible {
  // Steps above `background`.
  let steps: UInt8

  /// Work that nobody waits for.
  public static let background = RequestPriority(steps: 0)
  /// Below normal.
  public static let low = RequestPriority(steps: 1)
  /// What a request has unless it says otherwise.
  public static let normal = RequestPriority(steps: 2)
  /// Above normal.
  public static let high = RequestPriority(steps: 3)
  /// Somebody looks at an empty screen.
  public static let urgent = RequestPriority(steps: 4)

  /// All of them, the lowest first.
  public static let allCases: [RequestPriority] = [.background, .low, .normal, .high, .urgent]

  /// Whether `left` is less urgent.
  public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.steps < right.steps }

  /// How many steps it stands behind the most urgent.
  var stepsBehind: UInt64 { UInt64(Self.urgent.steps - steps) }

  /// Its name, for logs and options.
  public var description: String {
    switch self {
    case .background: "background"
    case .low: "low"
    case .high: "high"
    case .urgent: "urgent"
    default: "normal"
    }
  }

  /// The priority of that name; nil for any other text.
  public init?(_ name: String) {
    guard let found = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = found
  }

  private init(steps: UInt8) { self.steps = steps }
}
