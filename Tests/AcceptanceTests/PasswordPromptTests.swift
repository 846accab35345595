import Foundation
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The question for a password, at a terminal.
@Suite struct PasswordPromptTests {
  /// Asks at a terminal whose user types these bytes once the question is shown: what was typed before is dropped.
  private func ask(_ typed: String) async throws -> (answer: Result<String, FetchProblem>, shown: String) {
    let terminal = try PseudoTerminal(columns: 80, rows: 24)
    async let answer = ThreadPool.blocking {
      Result { () throws(FetchProblem) in try PasswordPrompt.ask("Password for ada: ", on: terminal.slave) }
    }
    try await terminal.wait(for: "Password for ada: ")
    try terminal.type(typed)
    let result = try await answer
    try await terminal.wait(for: "\n")
    var state = termios()
    #expect(tcgetattr(terminal.slave, &state) == 0 && state.c_lflag & tcflag_t(ECHO) != 0)
    terminal.close()
    return (result, terminal.text)
  }

  @Test func `What is typed is not shown, and the terminal is as before`() async throws {
    let (answer, shown) = try await ask("seXü\u{7f}\u{7f}cret\n")
    #expect(try answer.get() == "secret")
    #expect(shown == "Password for ada: \n")
    #expect(try await ask("wrong\u{15}right\r").answer.get() == "right")
    guard case .failure(let problem) = try await ask("se\u{3}").answer else {
      Issue.record("an interrupt was taken for a password")
      return
    }
    #expect(problem.status == .interrupted)
  }

  @Test(.enabled("the program was not built along with the tests") { Tool.headgate != nil }, arguments: [1, 2, 15])
  func `A signal that ends the process leaves the terminal as before`(number: Int32) async throws {
    let folder = try TemporaryFolder()
    let script = """
      import os, pty, sys, termios
      child, terminal = pty.fork()
      if child == 0:
          os.execvp("headgate", ["headgate", "fetch", "-u", "ada", "http://127.0.0.1:1/"])
      shown = b""
      while b"Password for ada" not in shown: shown += os.read(terminal, 100)
      echo = lambda: bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
      before = echo()
      os.kill(child, int(sys.argv[1]))
      status = os.waitpid(child, 0)[1]
      print(before, echo(), os.WTERMSIG(status))
      """
    try folder.write(script.utf8, to: "ask.py")
    let (status, output, messages) = await (try ShellLine("python3 ask.py \(number)", in: folder)).finish()
    #expect(status == 0 && String(decoding: output, as: UTF8.self) == "False True \(number)\n", "\(messages)")
  }
}
