import HeadgateThreads

/// Which requests may start while a coordinator can't be reached.
public struct OutagePolicy: Sendable, Hashable, CustomStringConvertible {
  enum Kind: Sendable, Hashable {
    case failClosed(Duration)
    case localShare
    case failOpen(EndPointLimits)
  }

  let kind: Kind

  /// Nothing starts: requests wait for the coordinator, and fail with `coordinatorUnavailable` when they have waited
  /// for a given time since the outage began. The shared limit always holds. The default, with 30 seconds.
  ///
  /// - Parameter patience: How long a request waits during an outage. Zero or less: it fails at once.
  public static func failClosed(after patience: Duration = usualPatience) -> OutagePolicy {
    OutagePolicy(kind: .failClosed(patience))
  }

  /// How long requests wait for a coordinator by default: 30 seconds.
  public static let usualPatience = Duration.seconds(30)

  /// Each program uses its share: the limit divided by the number of programs when it was last known. If the share is
  /// less than one request, requests wait as with ``failClosed(after:)``. Rates and budgets are divided too.
  ///
  /// The shares together are at most the shared limit, unless programs join during the outage. But they are counted
  /// separately from the coordinator's permits. Up to twice the limit may run while requests from before the outage
  /// still run, and after the outage until the requests of the shares have ended.
  public static let localShare = OutagePolicy(kind: .localShare)

  /// Each program uses limits of its own. The shared limit does not hold: together, n programs may use n times these
  /// limits.
  public static func failOpen(_ limits: EndPointLimits) -> OutagePolicy { OutagePolicy(kind: .failOpen(limits)) }

  /// What happens during an outage, in words.
  public var description: String {
    switch kind {
    case .failClosed(let patience):
      patience > .zero
        ? "without it nothing starts, and requests fail after \(patience.words)"
        : "without it nothing starts, and requests fail at once"
    case .localShare: "without it each program uses its share of the limits"
    case .failOpen(let limits): "without it each program runs up to \(limits.requests) per end-point on its own"
    }
  }
}
