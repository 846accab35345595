// Starts this program in another process, with posix_spawn(3). Foundation's Process would do it, but all of Foundation,
// with its network and its tables of Unicode, would make the command several times as large.

import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The executable file of this process.
enum OwnProgram {
  /// Starts it in a new process, which inherits no descriptor but the given ones, and no blocked signal.
  ///
  /// - Parameters:
  ///   - arguments: The arguments after the program's name.
  ///   - streams: The new process's standard input, output and error. Nil: `/dev/null`.
  static func start(
    _ arguments: [String], _ streams: (input: Int32?, output: Int32?, error: Int32?) = (nil, nil, nil)
  ) throws -> pid_t {
    guard let program = path else { throw FetchProblem("this program can't find its executable file") }
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
    for (stream, given) in zip(Int32(0)..., [streams.input, streams.output, streams.error]) {
      if let given {
        posix_spawn_file_actions_adddup2(&actions, given, stream)
      } else {
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0)
      }
    }
    // Among the inherited descriptors may be the pipe of a permit, which a server would keep for ever.
    for descriptor in inherited { posix_spawn_file_actions_addclose(&actions, descriptor) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    // The shell lowers the limit for the new process. This one may need it meanwhile.
    let shell = ["/bin/sh", "-c", "ulimit -S -n \(OpenFiles.initialLimit); exec \"$0\" \"$@\""]
    var words: [UnsafeMutablePointer<CChar>?] = (shell + [program] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    words.append(nil)
    var process = pid_t()
    let failure = posix_spawn(&process, shell[0], &actions, &attributes, words, environ)
    guard failure == 0 else { throw SystemError(errno: failure) }
    return process
  }

  /// Waits for the end of a process that `start` has started. Blocks.
  static func wait(for process: pid_t) {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
  }

  private static var path: String? {
    #if canImport(Darwin)
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    var size = UInt32(bytes.count)
    guard _NSGetExecutablePath(&bytes, &size) == 0 else { return nil }
    return String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    // An upgrade has replaced the file. This one still exists as long as this process does.
    return path?.hasSuffix(" (deleted)") == true ? "/proc/\(getpid())/exe" : path
    #endif
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
