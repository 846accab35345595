import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// What a process does with a permit.
enum HeldCommand {
  /// Replaces this process with a command, which inherits the permit. No process remains in between whose death would
  /// free the permit while the command is still running.
  ///
  /// - Returns: Why the command could not be started. Otherwise it does not return.
  static func become(_ program: String, _ arguments: [String]) -> FetchProblem {
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    OpenFiles.lower()
    execvp(program, words)
    let error = SystemError.last
    words.forEach { free($0) }
    return problem(program, error)
  }

  /// Why a command can't be run, with the statuses of shells: for one that is not found, and for any other reason.
  static func problem(_ program: String, _ error: SystemError) -> FetchProblem {
    FetchProblem(
      "\(program) can't be run: \(error)", status: ExitStatus(rawValue: error.errno == ENOENT ? 127 : 126))
  }

  /// Prints that the permit is granted, and holds it until standard input ends.
  static func holdForInput() throws(FetchProblem) {
    do throws(SystemError) {
      try Descriptor.write(Array("granted\n".utf8), to: 1)
      while true {
        _ = Descriptor.wait(for: 0, 1, orFor: nil)
        if try Descriptor.read(0, atMost: 4096).isEmpty { return }
      }
    } catch {
      throw FetchProblem("standard input or output failed while the permit was held: \(error)")
    }
  }

  static func unblockSignals() {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }
}
