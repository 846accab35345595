import Foundation
import HeadgateSharing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The permit server in a process of its own, which outlives the command that started it.
enum ShareServerProcess {
  /// Starts `headgate share serve` in the background. It ends at once if another server has the folder.
  ///
  /// The process that is started here starts the server and ends. Otherwise the server would be a child of a command
  /// that knows nothing about it.
  static func start(in folder: PermitFolder) throws(SharingError) {
    do {
      let process = try spawn(["--background"], folder)
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
    } catch {
      throw SharingError(folder, "no server can be started: \(error)")
    }
  }

  /// Starts the server itself, in a session of its own: signals of the terminal do not reach it.
  static func startDetached(in folder: PermitFolder) throws {
    setsid()
    _ = try spawn([], folder)
  }

  private static func spawn(_ options: [String], _ folder: PermitFolder) throws -> pid_t {
    guard let program = Bundle.main.executablePath else {
      throw FetchProblem("this program can't find its executable file")
    }
    let arguments = [program, "share", "serve", "--folder", folder.path] + options
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
    for descriptor in Int32(0)...2 {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
    }
    // Among the inherited descriptors may be the pipe of a permit, which the server would keep for ever.
    for descriptor in inherited { posix_spawn_file_actions_addclose(&actions, descriptor) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    defer { words.forEach { free($0) } }
    words.append(nil)
    var process = pid_t()
    let failure = posix_spawn(&process, program, &actions, &attributes, words, environ)
    guard failure == 0 else { throw SystemError(errno: failure) }
    return process
  }

  /// The open descriptors above standard error that a command would inherit.
  private static var inherited: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
    return names.compactMap { Int32($0) }.filter { descriptor in
      let flags = fcntl(descriptor, F_GETFD)
      return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
    }
  }
}
