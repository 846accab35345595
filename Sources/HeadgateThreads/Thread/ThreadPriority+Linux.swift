// Priorities on Linux: each thread has a nice value of its own and a scheduling policy (sched(7), setpriority(2)).

#if !canImport(Darwin)
import CHeadgate

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension SchedulingPolicy {
  /// The ordinary policy, in which the nice value counts.
  public static let standard = SchedulingPolicy(rawValue: 0)
  /// Runs until it waits or a higher level comes.
  public static let fifo = SchedulingPolicy(rawValue: 1)
  /// Takes turns with others of its level.
  public static let roundRobin = SchedulingPolicy(rawValue: 2)
  /// Long computation: preempted less often. Linux.
  public static let batch = SchedulingPolicy(rawValue: 3)
  /// Only when nothing else wants the processor. Linux.
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
  /// What `pthread_create` is told: nothing, since a nice value is set from inside.
  var creationQuality: UInt32 { 0 }

  /// Whether the new thread sets it itself, before its body.
  var isSetFromInside: Bool { kind != .inherited }

  /// Sets it for a living thread. 0, or the system's error number.
  func apply(to thread: ThreadRecord.SystemThread) -> Int32 {
    switch kind {
    case .inherited: 0
    case .quality(let quality): wish(quality.nice, for: thread)
    case .nice(let value):
      // The kernel would cut what is outside to its ends, without a word.
      (-20...19).contains(value) ? headgate_set_nice(thread.number, Int32(value)) : EINVAL
    case .policy(let policy, let level):
      Int32(exactly: level).map { headgate_set_policy(thread.number, policy.rawValue, $0) } ?? EINVAL
    }
  }
}

/// Sets a nice value where the system lets the process. One that was started at a higher value (`nice`, a service's
/// `Nice=`) may not lower it: a thread in it keeps what it has.
private func wish(_ nice: Int32, for thread: ThreadRecord.SystemThread) -> Int32 {
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
  /// Asks the system about a living thread.
  static func of(_ thread: ThreadRecord.SystemThread) -> Swift.Result<EffectivePriority, SystemFailure> {
    var (policy, level, nice): (Int32, Int32, Int32) = (0, 0, 0)
    let failure = headgate_get_priority(thread.number, &policy, &level, &nice)
    guard failure == 0 else { return .failure(SystemFailure(errno: failure)) }
    return .success(
      EffectivePriority(
        policy: SchedulingPolicy(rawValue: policy), level: Int(level), nice: Int(nice), quality: nil))
  }
}
#endif
