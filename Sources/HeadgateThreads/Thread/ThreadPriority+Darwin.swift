// Priorities on Apple's systems: the quality of service, which is set at the thread's creation or by the thread itself,
// and the POSIX policies. Checked by scripts/check-apple.sh.

#if canImport(Darwin)
import CHeadgate
import Darwin

extension SchedulingPolicy {
  /// The ordinary policy.
  public static let standard = SchedulingPolicy(rawValue: SCHED_OTHER)
  /// Runs until it blocks or a thread of a higher level becomes ready.
  public static let fifo = SchedulingPolicy(rawValue: SCHED_FIFO)
  /// Time-sliced with other threads of its level.
  public static let roundRobin = SchedulingPolicy(rawValue: SCHED_RR)

  var systemName: String? { nil }
}

extension ThreadPriority {
  /// The quality of service to pass to `pthread_create`.
  var creationQuality: UInt32 {
    if case .quality(let quality) = kind { quality.system.rawValue } else { 0 }
  }

  /// Whether the new thread sets the priority itself, before its body runs.
  var isSetFromInside: Bool {
    switch kind {
    case .inherited, .quality: false
    case .nice, .policy: true
    }
  }

  /// Sets the priority of the calling thread. Returns 0 or the system's error number.
  func apply(to thread: ThreadRecord.SystemThread) -> Int32 {
    if kind == .inherited { return 0 }
    // A thread can change only itself.
    guard thread.thread == headgate_thread_self() else { return ENOTSUP }
    switch kind {
    case .inherited: return 0
    case .quality(let quality): return pthread_set_qos_class_self_np(quality.system, 0)
    case .nice: return ENOTSUP
    case .policy(let policy, let level):
      guard let level = Int32(exactly: level) else { return EINVAL }
      return headgate_set_policy(thread.number, policy.rawValue, level)
    }
  }
}

extension ThreadPriority.Quality {
  fileprivate var system: qos_class_t {
    switch self {
    case .background: QOS_CLASS_BACKGROUND
    case .utility: QOS_CLASS_UTILITY
    case .standard: QOS_CLASS_DEFAULT
    case .userInitiated: QOS_CLASS_USER_INITIATED
    case .userInteractive: QOS_CLASS_USER_INTERACTIVE
    }
  }
}

extension EffectivePriority {
  /// Queries the system about the calling thread.
  static func of(_ thread: ThreadRecord.SystemThread) -> Result<EffectivePriority, SystemFailure> {
    guard thread.thread == headgate_thread_self() else { return .failure(SystemFailure(errno: ENOTSUP)) }
    var (policy, level, nice): (Int32, Int32, Int32) = (0, 0, 0)
    let failure = headgate_get_priority(thread.number, &policy, &level, &nice)
    guard failure == 0 else { return .failure(SystemFailure(errno: failure)) }
    let quality: ThreadPriority? =
      switch qos_class_self() {
      case QOS_CLASS_BACKGROUND: .background
      case QOS_CLASS_UTILITY: .utility
      case QOS_CLASS_DEFAULT: .standard
      case QOS_CLASS_USER_INITIATED: .userInitiated
      case QOS_CLASS_USER_INTERACTIVE: .userInteractive
      default: nil
      }
    return .success(
      EffectivePriority(policy: SchedulingPolicy(rawValue: policy), level: Int(level), nice: 0, quality: quality))
  }
}
#endif
