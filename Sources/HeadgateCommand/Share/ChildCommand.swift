import CHeadgate
import HeadgateDispatch
import HeadgateLibC
import HeadgateSharing
import HeadgateThreads

/// A command in a process of its own, whose parent stays to see how it ends.
///
/// The command has the permit's pipe open too, so the permit is held until both have ended, whichever is killed first.
///
/// The command stays in this process's group. So both belong to the terminal's foreground, or neither does, and a signal
/// of the terminal reaches the command without help. Rejected: a group of the command's own that is made the foreground
/// one. The other programs of a pipeline, and those that xargs runs at the same time, would lose the terminal, and an
/// interrupt would reach this command alone.
enum ChildCommand {
  /// How a command ended.
  enum Ending: Hashable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// - Parameter status: As waitpid(2) gives it.
    init(status: Int32) { self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: status & 0x7F) }
  }

  /// The signals that are passed on. SIGSTOP and SIGKILL can't be.
  private static let passedOn = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGCONT,
  ]

  /// Starts a command, whose first argument is its name, and waits for its end. Blocks. Signals to this process are
  /// passed on to the command.
  ///
  /// - Throws: ``FetchProblem`` if it can't be started, with the exit status that a shell would have.
  static func run(_ program: String, _ arguments: [String]) throws(FetchProblem) -> Ending {
    let notes: (reader: Int32, writer: Int32)
    do throws(SystemError) { notes = try pipe() } catch {
      throw FetchProblem("\(program) can't be run: \(error)")
    }
    // Before the command begins: a signal that arrives meanwhile is passed on afterwards.
    for number in passedOn + [SIGCHLD] { headgate_relay_signal(number, notes.writer) }
    let process: pid_t
    OpenFiles.lower()
    do throws(SystemError) { process = try ChildProcess.start(arguments, nil) } catch {
      throw HeldCommand.problem(program, error)
    }
    // A signal of the terminal that came earlier has not reached the command.
    headgate_relay_marks(1)
    while true {
      var note: UInt8 = 0
      guard read(notes.reader, &note, 1) == 1 else { continue }
      // After each signal: of many at a time, that of the end may have found the pipe full.
      if let ending = ending(of: process) { return ending }
      let number = Int32(note & 0x7F)
      guard number != SIGCHLD else { continue }
      if !hasReached(number, isFromSystem: note & 0x80 != 0) { kill(process, number) }
      if number == SIGTSTP {
        // Stopped as the command is, so that the shell sees it. SIGCONT is passed on in its turn.
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        headgate_relay_signal(SIGTSTP, notes.writer)
      }
    }
  }

  /// Ends this process as the command ended.
  static func end(as ending: Ending) -> Never {
    switch ending {
    case .exited(let status): exit(status)
    case .killed(let number):
      headgate_die_of_signal(number)
      exit(128 + number)
    }
  }

  /// Tells all programs that share permits that an end-point has refused the command. A message on standard error says
  /// why, if that fails.
  static func tellRefusal(of endPoint: EndPoint, in folder: PermitFolder) {
    guard let pause = SharedPause.refused(by: endPoint, retryAfter: nil, status: nil) else { return }
    do throws(FetchProblem) { _ = try RefusedCommand.tell(pause, folder, mustRun: true) } catch {
      ShareText.say("the refusal of \(endPoint) can't be told to other programs: \(error)")
    }
  }

  /// Whether the command has got a signal too, because the terminal has sent it to the whole group.
  private static func hasReached(_ number: Int32, isFromSystem: Bool) -> Bool {
    switch number {
    case SIGINT, SIGQUIT, SIGTSTP: isFromSystem
    // If the terminal hangs up, the system tells the session's leader alone.
    case SIGHUP, SIGCONT: isFromSystem && getsid(0) != getpid()
    // Also SIGALRM, which the system sends to the process that has set the alarm before it became this program.
    default: false
    }
  }

  /// Nil while it runs or is stopped.
  private static func ending(of process: pid_t) -> Ending? {
    var status: Int32 = 0
    return waitpid(process, &status, WNOHANG) == process ? Ending(status: status) : nil
  }

  /// A pipe that the command does not inherit. Its writing end never blocks.
  private static func pipe() throws(SystemError) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    guard platformPipe(&ends) == 0 else { throw .last }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    return (ends[0], ends[1])
  }
}

private func platformPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }
