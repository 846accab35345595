/// How much of the processor a thread is to get beside others.
///
/// The named levels are a wish that every system can grant: quality of service on Apple's systems, a nice value on Linux.
/// Nice values and policies say exactly what they mean, and are refused where they don't exist or the process lacks the
/// right; a refusal is always an error. Look at ``ThreadHandle/effectivePriority()`` for what the system made of it.
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

  /// As the thread that starts it. For a running thread: no change.
  public static let inherited = ThreadPriority(kind: .inherited)
  /// Work that nobody waits for. Linux: nice 19.
  public static let background = ThreadPriority(kind: .quality(.background))
  /// Long work that may take its time. Linux: nice 10.
  public static let utility = ThreadPriority(kind: .quality(.utility))
  /// The ordinary priority. Linux: nice 0.
  public static let standard = ThreadPriority(kind: .quality(.standard))
  /// Work that somebody waits for. Linux: nice 0, the most that an ordinary process may have.
  public static let userInitiated = ThreadPriority(kind: .quality(.userInitiated))
  /// Work of a user interface. Linux: nice 0, the most that an ordinary process may have.
  public static let userInteractive = ThreadPriority(kind: .quality(.userInteractive))

  /// A nice value for this thread alone, from -20 (the most) to 19 (the least); Linux only. Less than the present value
  /// needs the right: `CAP_SYS_NICE` or `RLIMIT_NICE`.
  public static func nice(_ value: Int) -> ThreadPriority { ThreadPriority(kind: .nice(value)) }

  /// A scheduling policy, with its level for ``SchedulingPolicy/fifo`` and ``SchedulingPolicy/roundRobin`` (Linux: 1 to
  /// 99, needs `CAP_SYS_NICE` or `RLIMIT_RTPRIO`) and 0 for the others.
  public static func policy(_ policy: SchedulingPolicy, level: Int = 0) -> ThreadPriority {
    ThreadPriority(kind: .policy(policy, level: level))
  }

  /// For people.
  public var description: String {
    switch kind {
    case .inherited: "inherited"
    case .quality(let quality): quality.rawValue
    case .nice(let value): "nice \(value)"
    case .policy(let policy, let level): level == 0 ? "\(policy)" : "\(policy) \(level)"
    }
  }
}

/// How the system chooses among threads: the policies of POSIX, and those of Linux beside them.
public struct SchedulingPolicy: Hashable, Sendable, CustomStringConvertible {
  /// The system's number for it.
  public let rawValue: Int32

  /// The policy with this number.
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

/// What the system's scheduler goes by for one thread.
public struct EffectivePriority: Hashable, Sendable, CustomStringConvertible {
  /// The scheduling policy.
  public let policy: SchedulingPolicy
  /// The level within ``SchedulingPolicy/fifo`` and ``SchedulingPolicy/roundRobin``; 0 for the others on Linux.
  public let level: Int
  /// The nice value, which counts for the other policies. Linux only; 0 elsewhere.
  public let nice: Int
  /// The quality of service as the level that asks for it; Apple's systems only, nil elsewhere.
  public let quality: ThreadPriority?

  /// For people.
  public var description: String {
    var parts = ["\(policy)"]
    if level != 0 { parts.append("level \(level)") }
    parts.append(quality.map { "\($0)" } ?? "nice \(nice)")
    return parts.joined(separator: ", ")
  }
}

/// The system's answer, where it was not yes.
struct SystemFailure: Error {
  let errno: Int32
}
