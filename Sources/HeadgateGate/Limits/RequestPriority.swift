/// The priority of a request among those that wait for the same end-point in the same lane.
///
/// Each step equals a waiting time (``GateLimits/agingInterval``, ten seconds by default): an urgent request overtakes
/// a normal one unless the normal one has waited twenty seconds longer. No request starves, because waiting requests
/// age, and later ones can overtake only within that time. Requests of equal priority start in order of arrival.
public struct RequestPriority: Hashable, Comparable, Sendable, CaseIterable, CustomStringConvertible {
  // The number of steps above `background`.
  let steps: UInt8

  /// Below `low`: work without a deadline.
  public static let background = RequestPriority(steps: 0)
  /// Below normal.
  public static let low = RequestPriority(steps: 1)
  /// The default.
  public static let normal = RequestPriority(steps: 2)
  /// Above normal.
  public static let high = RequestPriority(steps: 3)
  /// The highest: for example, when a user waits for a first result.
  public static let urgent = RequestPriority(steps: 4)

  /// All priorities, lowest first.
  public static let allCases: [RequestPriority] = [.background, .low, .normal, .high, .urgent]

  /// Whether `left` has a lower priority.
  public static func < (left: RequestPriority, right: RequestPriority) -> Bool { left.steps < right.steps }

  /// The number of steps below `urgent`.
  var stepsBehind: UInt64 { UInt64(Self.urgent.steps - steps) }

  /// The name, for logs and options.
  public var description: String { Self.names[Int(steps)] }

  private static let names = ["background", "low", "normal", "high", "urgent"]

  /// The priority with a name; nil for any other text.
  public init?(_ name: String) {
    guard let found = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = found
  }

  private init(steps: UInt8) { self.steps = steps }
}
