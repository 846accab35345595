import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// Why a command has printed no token. Never contains its output, only the last line of its messages.
struct TokenProblem: Error, Hashable, Sendable, CustomStringConvertible {
  let reason: String

  var description: String { "--token-command \(reason)" }
}

/// A command that prints a token.
struct TokenCommand: Sendable {
  /// The program and its arguments.
  let words: [String]
  var patience = Duration.seconds(30)
  /// The most bytes of output.
  var most = 16 * 1024

  /// Runs the command, and returns the token. Blocks.
  ///
  /// The command gets no input, and inherits no descriptor but its standard streams. It is killed, with its children,
  /// when its time is over, when it prints too much, or when `isWanted` returns false.
  func run(while isWanted: () -> Bool = { true }) throws(TokenProblem) -> String {
    let (output, messages, status): ([UInt8], [UInt8], Int32)
    do throws(SystemError) {
      (output, messages, status) = try read(isWanted)
    } catch {
      switch error.errno {
      case ETIMEDOUT:
        throw TokenProblem(reason: "took longer than \(Amount.seconds(patience.inSeconds)), and was ended")
      case EFBIG: throw TokenProblem(reason: "printed more than \(Amount.bytes(most)), and was ended")
      case ECANCELED: throw TokenProblem(reason: "was ended with the run")
      default: throw TokenProblem(reason: "can't run \(ShownText.of(words.first ?? "", atMost: 200)): \(error)")
      }
    }
    guard status == 0 else {
      let how = status & 0x7F == 0 ? "failed with the status \(status >> 8 & 0xFF)" : "was ended by a signal"
      throw TokenProblem(reason: how + Self.lastLine(messages))
    }
    var token = String(decoding: output, as: UTF8.self)[...]
    while let last = token.last, last.isWhitespace { token.removeLast() }
    token = token.drop { $0.isWhitespace }
    guard !token.isEmpty else { throw TokenProblem(reason: "printed no token" + Self.lastLine(messages)) }
    guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw TokenProblem(reason: "printed something other than one token")
    }
    return String(token)
  }

  private static func lastLine(_ messages: [UInt8]) -> String {
    let lines = String(decoding: messages, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let last = lines.last(where: { !$0.allSatisfy(\.isWhitespace) }) else { return "" }
    return ": " + ShownText.of(String(last), atMost: 400)
  }

  private func read(
    _ isWanted: () -> Bool
  ) throws(SystemError) -> (output: [UInt8], messages: [UInt8], status: Int32) {
    let output = try Descriptor.pipe()
    let messages: (reader: Int32, writer: Int32)
    do throws(SystemError) { messages = try Descriptor.pipe() } catch {
      for end in [output.reader, output.writer] { Descriptor.close(end) }
      throw error
    }
    defer { for reader in [output.reader, messages.reader] { Descriptor.close(reader) } }
    let process = try start(output.writer, messages.writer)
    let end = Deadline.after(patience)
    var pipes = [(reader: output.reader, bytes: [UInt8]()), (reader: messages.reader, bytes: [])]
    var (status, hasEnded): (Int32, Bool) = (0, false)
    do throws(SystemError) {
      while true {
        // A child of the command may keep the pipes open, so their end is not waited for.
        hasEnded = waitpid(process, &status, WNOHANG) == process
        try drain(&pipes, waiting: !hasEnded)
        if hasEnded { return (pipes[0].bytes, pipes[1].bytes, status) }
        if Deadline.now >= end { throw SystemError(errno: ETIMEDOUT) }
        if !isWanted() { throw SystemError(errno: ECANCELED) }
      }
    } catch {
      // After its end, its number may be another process's.
      guard !hasEnded else { throw error }
      kill(-process, SIGKILL)
      kill(process, SIGKILL)
      while waitpid(process, &status, 0) < 0, SystemError.last.errno == EINTR {}
      throw error
    }
  }

  private func start(_ output: Int32, _ messages: Int32) throws(SystemError) -> pid_t {
    defer { for writer in [output, messages] { Descriptor.close(writer) } }
    return try ChildProcess.start(ChildProcess.withInitialLimit(words), (nil, output, messages), leadsGroup: true)
  }

  /// Reads what is there, and waits for it a moment.
  private func drain(_ pipes: inout [(reader: Int32, bytes: [UInt8])], waiting: Bool) throws(SystemError) {
    var wait: Int32 = waiting ? 20 : 0
    // As much as the pipes of any system hold. A command that never stops must not keep its time from ending.
    for _ in 0..<32 {
      var wanted = pipes.map { pollfd(fd: $0.reader, events: Int16(POLLIN), revents: 0) }
      guard poll(&wanted, nfds_t(wanted.count), wait) > 0 else { return }
      wait = 0
      var hasRead = false
      for place in pipes.indices where wanted[place].revents != 0 {
        let bytes = try Descriptor.read(pipes[place].reader, atMost: 4096)
        if bytes.isEmpty { continue }
        hasRead = true
        pipes[place].bytes += bytes
        if place == 0 {
          if pipes[0].bytes.count > most { throw SystemError(errno: EFBIG) }
        } else {
          // Only the end of the messages is shown.
          pipes[place].bytes = pipes[place].bytes.suffix(most)
        }
      }
      // Both are at their ends, or closed by the command, which may go on.
      if !hasRead {
        if waiting { _ = poll(nil, 0, 20) }
        return
      }
    }
  }
}
