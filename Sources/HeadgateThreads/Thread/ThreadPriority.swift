/// How much of the processor a thread gets relative to others.
///
/// The named levels are best effort on every system: quality of service on Apple's systems, a nice value on Linux. Nice
/// values and policies are exact. They are refused with an error if the system does not have them or the process lacks
/// the right. ``ThreadHandle/effectivePriority()`` returns the resulting parameters.
public struct ThreadPriority: Hashable, Sendable, CustomStringConvertible {
  enum Kind: Hashable, Sendable {
    case inherited
    case quality(Quality)
    case nice(Int)
    case policy(SchedulingPolicy, level: Int)
  }

  enum Quality: String, Hashable, Sendable {
    case background, utility, standard, userInitiated, userInteractive
  }

  let kind: Kind

  /// The priority of the thread that starts it. For a running thread: no change.
  public static let inherited = ThreadPriority(kind: .inherited)
  /// Background work that nothing waits for. Linux: nice 19.
  public static let background = ThreadPriority(kind: .quality(.background))
  /// Long work that is not urgent. Linux: nice 10.
  public static let utility = ThreadPriority(kind: .quality(.utility))
  /// The ordinary priority. Linux: nice 0.
  public static let standard = ThreadPriority(kind: .quality(.standard))
  /// Work that a user waits for. Linux: nice 0, the highest that an ordinary process may have.
  public static let userInitiated = ThreadPriority(kind: .quality(.userInitiated))
  /// Work of a user interface. Linux: nice 0, the highest that an ordinary process may have.
  public static let userInteractive = ThreadPriority(kind: .quality(.userInteractive))

  /// A nice value for this thread alone, from -20 (highest priority) to 19 (lowest). Linux only. Going below the
  /// current value requires a right: `CAP_SYS_NICE` or `RLIMIT_NICE`.
  public static func nice(_ value: Int) -> ThreadPriority { ThreadPriority(kind: .nice(value)) }

  /// A scheduling policy, with a level for ``SchedulingPolicy/fifo`` and ``SchedulingPolicy/roundRobin`` (Linux: 1 to
  /// 99, requires `CAP_SYS_NICE` or `RLIMIT_RTPRIO`) and 0 for the others.
  public static func policy(_ policy: SchedulingPolicy, level: Int = 0) -> ThreadPriority {
    ThreadPriority(kind: .policy(policy, level: level))
  }

  /// A readable text.
  public var description: String {
    switch kind {
    case .inherited: "inherited"
    case .quality(let quality): quality.rawValue
    case .nice(let value): "nice \(value)"
    case .policy(let policy, let level): level == 0 ? "\(policy)" : "\(policy) \(level)"
    }
  }
}

/// How the system schedules a thread: the POSIX policies and those specific to Linux.
public struct SchedulingPolicy: Hashable, Sendable, CustomStringConvertible {
  /// The system's number of the policy.
  public let rawValue: Int32

  /// Creates the policy with this number.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// Its name, or its number.
  public var description: String {
    switch self {
    case .standard: "standard"
    case .fifo: "fifo"
    case .roundRobin: "round_robin"
    default: systemName ?? "policy \(rawValue)"
    }
  }
}

/// The parameters that the system's scheduler uses for one thread.
public struct EffectivePriority: Hashable, Sendable, CustomStringConvertible {
  /// The scheduling policy.
  public let policy: SchedulingPolicy
  /// The level within ``SchedulingPolicy/fifo`` and ``SchedulingPolicy/roundRobin``; 0 for the others on Linux.
  public let level: Int
  /// The nice value, which matters for the other policies. Linux only; 0 elsewhere.
  public let nice: Int
  /// The quality of service as the corresponding level; Apple's systems only, nil elsewhere.
  public let quality: ThreadPriority?

  /// A readable text.
  public var description: String {
    var parts = ["\(policy)"]
    if level != 0 { parts.append("level \(level)") }
    parts.append(quality.map { "\($0)" } ?? "nice \(nice)")
    return parts.joined(separator: ", ")
  }
}

/// An error number returned by the system.
struct SystemFailure: Error {
  let errno: Int32
}
