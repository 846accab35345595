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
    return try ChildProcess.start(ChildProcess.withInitialLimit([program] + arguments), streams)
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
}
