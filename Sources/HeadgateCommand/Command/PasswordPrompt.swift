import HeadgateDispatch
import HeadgateLibC

/// Asks the terminal for a password, which is not shown.
enum PasswordPrompt {
  /// Asks at the process's own terminal, whatever its standard streams are.
  ///
  /// - Throws: ``FetchProblem`` if there is no terminal, or if the user interrupts.
  static func ask(_ prompt: String) throws(FetchProblem) -> String {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else {
      throw FetchProblem(
        "-u: there is no terminal to ask for the password; give env:NAME, a variable with NAME:PASSWORD",
        status: .usage)
    }
    defer { close(terminal) }
    let signals = TerminalSignals(restoring: terminal)
    defer { signals.end() }
    return try ask(prompt, on: terminal)
  }

  /// - Parameter terminal: A descriptor to read from and write to.
  static func ask(_ prompt: String, on terminal: Int32) throws(FetchProblem) -> String {
    var before = termios()
    guard tcgetattr(terminal, &before) == 0 else { throw unusable() }
    var silent = before
    // Signals of keys are read as bytes: a process that they end would leave the terminal without echo.
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    withUnsafeMutableBytes(of: &silent.c_cc) { bytes in
      // Each read waits for one byte, and for no time.
      bytes[Int(VMIN)] = 1
      bytes[Int(VTIME)] = 0
    }
    guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { throw unusable() }
    defer {
      _ = tcsetattr(terminal, TCSAFLUSH, &before)
      try? Descriptor.write([UInt8(ascii: "\n")], to: terminal)
    }
    do throws(SystemError) {
      try Descriptor.write(Array(ShownText.of(prompt).utf8), to: terminal)
    } catch {
      throw unusable()
    }
    return try line(from: terminal)
  }

  private static func line(from terminal: Int32) throws(FetchProblem) -> String {
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unusable() }
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return String(decoding: line, as: UTF8.self)
      // Ctrl-C, Ctrl-\ and Ctrl-D.
      case 3, 28, 4: throw FetchProblem("-u: interrupted", status: .interrupted)
      // Ctrl-U.
      case 21: line = []
      case 8, 127: removeLast(from: &line)
      // Other keys with Ctrl are no part of a password, except the tabulator.
      case ..<32 where byte != 9: break
      default: line.append(byte)
      }
    }
  }

  // A character of several bytes ends with those of the form 10xxxxxx.
  private static func removeLast(from line: inout [UInt8]) {
    while let byte = line.popLast(), byte & 0xc0 == 0x80 {}
  }

  private static func unusable() -> FetchProblem { FetchProblem("-u: the terminal can't be used") }
}
