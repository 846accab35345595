import CHeadgate
import HeadgateDispatch
import HeadgateLibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Starts other programs with posix_spawn(3). Foundation's Process would do it, but all of Foundation, with its network
/// and its tables of Unicode, would make the command several times as large.
enum ChildProcess {
  /// Starts a program in a new process, which inherits no blocked signal.
  ///
  /// - Parameters:
  ///   - words: The program, which is looked for in PATH if it has no slash, and its arguments.
  ///   - streams: The new process's standard input, output and error, beside which it inherits no descriptor, and
  ///     none of the signals that this program ignores by itself. Nil for one: `/dev/null`. Nil for all: it inherits what
  ///     this process would leave to a program in its place.
  ///   - leadsGroup: Whether it and its children are a process group of their own.
  static func start(
    _ words: [String], _ streams: (input: Int32?, output: Int32?, error: Int32?)?, leadsGroup: Bool = false
  ) throws(SystemError) -> pid_t {
    // Inherited as ignored, this signal would keep the system from telling how a child ended.
    if headgate_signal_is_ignored(SIGCHLD) != 0 { signal(SIGCHLD, SIG_DFL) }
    #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #else
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    if let streams {
      for (stream, given) in zip(Int32(0)..., [streams.input, streams.output, streams.error]) {
        if let given {
          posix_spawn_file_actions_adddup2(&actions, given, stream)
        } else {
          posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0)
        }
      }
      // Among the inherited descriptors may be the pipe of a permit, which a server would keep for ever.
      for descriptor in inherited { posix_spawn_file_actions_addclose(&actions, descriptor) }
    }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var flags = Int32(POSIX_SPAWN_SETSIGMASK)
    if streams != nil {
      // A program inherits what is ignored, and most rely on SIGPIPE: `yes | head -n 1` would otherwise fail.
      var usual = sigset_t()
      sigemptyset(&usual)
      for number in InterruptSignals.ignored { sigaddset(&usual, number) }
      posix_spawnattr_setsigdefault(&attributes, &usual)
      flags |= Int32(POSIX_SPAWN_SETSIGDEF)
    }
    if leadsGroup {
      flags |= Int32(POSIX_SPAWN_SETPGROUP)
      posix_spawnattr_setpgroup(&attributes, 0)
    }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    defer { arguments.forEach { free($0) } }
    arguments.append(nil)
    var process = pid_t()
    let failure = posix_spawnp(&process, words.first ?? "", &actions, &attributes, arguments, environ)
    guard failure == 0 else { throw SystemError(errno: failure) }
    return process
  }

  /// The words that start a program with the limit on open files that this process began with. A shell lowers it in the
  /// new process, because this one may need its own limit meanwhile.
  static func withInitialLimit(_ words: [String]) -> [String] {
    ["/bin/sh", "-c", "ulimit -S -n \(OpenFiles.initialLimit); exec \"$0\" \"$@\""] + words
  }

  /// The open descriptors above standard error that a new process would inherit.
  private static var inherited: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    return names.compactMap { Int32($0) }.filter { descriptor in
      let flags = fcntl(descriptor, F_GETFD)
      return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
    }
  }
}
