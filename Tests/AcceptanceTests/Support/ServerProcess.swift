import Foundation
import HeadgateTesting
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// A server in a separate process. It ends by ``stop()``, and whenever the tests' process ends.
final class ServerProcess: Sendable {
  // The shell waits for the end of its input, which only the tests' process can write to.
  private static let guardian = """
    "$@" &
    server=$!
    read -r line
    kill "$server"
    wait "$server"
    """

  private let name: String
  private let guardian = Process()
  private let input = Pipe()
  private let ended = Gate()
  private let pid = Locked<pid_t?>(nil)
  private let isStopped = Locked(false)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - command: Its path and its arguments.
  ///   - folder: Where it runs.
  ///   - output: The file that gets what it says.
  init(_ command: [String], in folder: String, output: String) throws {
    name = command[0]
    guardian.executableURL = URL(fileURLWithPath: "/bin/sh")
    guardian.arguments = ["-c", Self.guardian, "sh"] + command
    guardian.currentDirectoryURL = URL(fileURLWithPath: folder)
    try Data().write(to: URL(fileURLWithPath: output))
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
    guardian.standardInput = input
    guardian.standardOutput = output
    guardian.standardError = output
    guardian.terminationHandler = { [ended] _ in ended.open() }
    try guardian.runWithSignals()
    try input.fileHandleForReading.close()
    try output.close()
    Servers.current?.add(self)
  }

  deinit { try? input.fileHandleForWriting.close() }

  /// Waits until the server is ready.
  ///
  /// - Parameter look: Its process's number once it is; it can be seen from the server's files only.
  func waitUntilReady(_ look: () throws -> pid_t?) async throws {
    let found = try await eventually("\(name) is ready", look)
    pid.withLock { $0 = found }
  }

  /// Ends it, and makes sure that it has exited.
  func stop() async {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    guard isFirst else { return }
    let pid = pid.withLock { $0 }
    try? input.fileHandleForWriting.close()
    // nginx may have checked for signals just before this one arrived, and now wait for an event: another signal wakes
    // it.
    let reminder = TimerThread.shared.schedule(at: .after(.seconds(5))) {
      if let pid { _ = kill(pid, SIGTERM) }
    }
    let killer = TimerThread.shared.schedule(at: .after(.seconds(60))) { [guardian] in
      if let pid { _ = kill(pid, SIGKILL) }
      _ = kill(guardian.processIdentifier, SIGKILL)
    }
    await ended.waitRegardless()
    reminder.cancel()
    #expect(killer.cancel(), "\(name) had to be killed")
    guard let pid else { return }
    #expect(kill(pid, 0) == -1 && errno == ESRCH, "\(name) is left as process \(pid)")
  }
}

extension Process {
  /// Starts it with no signal blocked. The threads that run tasks block nearly all signals, and a child inherits that:
  /// a shell then never learns that its own children have ended.
  func runWithSignals() throws {
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try run()
  }
}

/// A condition was not fulfilled in time.
struct Late: Error, CustomStringConvertible {
  let description: String
}

/// Polls until a condition holds. For events in other processes, which can't notify the test.
func eventually<Value>(
  _ what: String, until deadline: Deadline = .after(.seconds(60)), _ look: () async throws -> Value?
) async throws -> Value {
  while true {
    if let value = try await look() { return value }
    guard Deadline.now < deadline else { throw Late(description: "not in time: \(what)") }
    try await Task.sleep(for: .milliseconds(10))
  }
}
