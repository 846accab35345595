import Foundation
import HeadgateTesting
import HeadgateThreads
import Testing

/// A process that a test waits for.
final class StartedProcess: Sendable {
  let process: Process
  private let ended = Gate()

  /// Starts it, with no signal blocked.
  init(_ process: Process) throws {
    self.process = process
    // None of the tests' hosts is known from an earlier test. A folder that does not exist is not used.
    var environment = process.environment ?? ProcessInfo.processInfo.environment
    environment["XDG_STATE_HOME"] = "/nonexistent"
    process.environment = environment
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.runWithSignals()
  }

  /// Starts a program without input and output.
  convenience init(_ program: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try self.init(process)
  }

  var hasEnded: Bool { ended.isOpen }

  func send(_ signal: Int32) { _ = kill(process.processIdentifier, signal) }

  /// Waits for its end, which must come within five minutes, and returns its exit status or signal.
  @discardableResult
  func finish() async -> Int32 {
    let killer = TimerThread.shared.schedule(at: .after(.seconds(300))) { [self] in send(SIGKILL) }
    await ended.waitRegardless()
    #expect(killer.cancel(), "not in time: \(process.arguments ?? [])")
    return process.terminationStatus
  }
}
