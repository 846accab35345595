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
}
