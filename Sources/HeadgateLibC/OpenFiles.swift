import Synchronization

/// The files and sockets that the process may have open: RLIMIT_NOFILE.
package enum OpenFiles {
  // The soft limit before it was raised; 0 if it was not.
  private static let before = Atomic<Int>(0)

  /// The current limit.
  package static var limit: Int { Int(clamping: UInt64(read().rlim_cur)) }

  /// The limit with which the process was started.
  package static var initialLimit: Int {
    let before = before.load(ordering: .relaxed)
    return before > 0 ? before : limit
  }

  /// Raises the soft limit to the hard one. For a program that starts no others without ``lower()``: they may not be
  /// ready for descriptors above 1,023.
  package static func raise() {
    let limits = read()
    guard limits.rlim_cur < limits.rlim_max else { return }
    before.store(Int(clamping: UInt64(limits.rlim_cur)), ordering: .relaxed)
    // Apple's systems have a lower limit than the hard one: OPEN_MAX.
    if !set(Int(clamping: UInt64(limits.rlim_max))) { _ = set(10_240) }
  }

  /// Sets the soft limit back, for a program that replaces this one.
  package static func lower() {
    let before = before.load(ordering: .relaxed)
    if before > 0 { _ = set(before) }
  }

  /// Whether a descriptor that was just opened leaves enough for the process's other needs: the system's libraries may
  /// end the process if they get none. (The kernel gives the lowest free number.)
  package static func leavesEnough(_ descriptor: Int32) -> Bool {
    let limit = limit
    return Int(descriptor) + min(16, limit / 4) < limit
  }

  private static func read() -> rlimit {
    // Assumed if the limit can't be read.
    var limits = rlimit(rlim_cur: 72, rlim_max: 72)
    #if canImport(Glibc)
    getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limits)
    #else
    getrlimit(RLIMIT_NOFILE, &limits)
    #endif
    return limits
  }

  private static func set(_ limit: Int) -> Bool {
    var limits = read()
    limits.rlim_cur = rlim_t(limit)
    #if canImport(Glibc)
    return setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limits) == 0
    #else
    return setrlimit(RLIMIT_NOFILE, &limits) == 0
    #endif
  }
}
