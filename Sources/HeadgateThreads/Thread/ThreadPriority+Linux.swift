// Priorities on Linux: each thread has its own nice value and scheduling policy (sched(7), setpriority(2)).

#if !canImport(Darwin)
import CHeadgate
import HeadgateLibC

extension SchedulingPolicy {
  /// The ordinary policy, in which the nice value matters.
  public static let standard = SchedulingPolicy(rawValue: 0)
  /// Runs until it blocks or a thread of a higher level becomes ready.
  public static let fifo = SchedulingPolicy(rawValue: 1)
  /// Time-sliced with other threads of its level.
  public static let roundRobin = SchedulingPolicy(rawValue: 2)
  /// For long computations: preempted less often. Linux only.
  public static let batch = SchedulingPolicy(rawValue: 3)
  /// Runs only when no other thread needs the processor. Linux only.
  public static let idle = SchedulingPolicy(rawValue: 5)

  var systemName: String? {
    switch self {
    case .batch: "batch"
    case .idle: "idle"
    default: nil
    }
  }
}

extension ThreadPriority {
  /// Nothing to pass to `pthread_create`: the new thread sets its nice value itself.
  var creationQuality: UInt32 { 0 }

  /// Whether the new thread sets the priority itself, before its body runs.
  var isSetFromInside: Bool { kind != .inherited }

  /// Sets the priority of a living thread. Returns 0 or the system's error number.
  func apply(to thread: ThreadRecord.SystemThread) -> Int32 {
    switch kind {
    case .inherited: 0
    case .quality(let quality): setIfPermitted(quality.nice, for: thread)
    case .nice(let value):
      // The kernel would silently clamp a value outside the range.
      (-20...19).contains(value) ? headgate_set_nice(thread.number, Int32(value)) : EINVAL
    case .policy(let policy, let level):
      Int32(exactly: level).map { headgate_set_policy(thread.number, policy.rawValue, $0) } ?? EINVAL
    }
  }
}

/// Sets a nice value if the system permits it. A process that was started at a higher value (`nice`, a service's
/// `Nice=`) may not lower it; its thread then keeps the current value.
private func setIfPermitted(_ nice: Int32, for thread: ThreadRecord.SystemThread) -> Int32 {
  let failure = headgate_set_nice(thread.number, nice)
  return failure == EACCES || failure == EPERM ? 0 : failure
}

extension ThreadPriority.Quality {
  fileprivate var nice: Int32 {
    switch self {
    case .background: 19
    case .utility: 10
    case .standard, .userInitiated, .userInteractive: 0
    }
  }
}

extension EffectivePriority {
  /// Queries the system about a living thread.
  static func of(_ thread: ThreadRecord.SystemThread) -> Result<EffectivePriority, SystemFailure> {
    var (policy, level, nice): (Int32, Int32, Int32) = (0, 0, 0)
    let failure = headgate_get_priority(thread.number, &policy, &level, &nice)
    guard failure == 0 else { return .failure(SystemFailure(errno: failure)) }
    return .success(
      EffectivePriority(
        policy: SchedulingPolicy(rawValue: policy), level: Int(level), nice: Int(nice), quality: nil))
  }
}
#endif
