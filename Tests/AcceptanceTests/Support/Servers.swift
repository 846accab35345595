import Foundation
import HeadgateThreads
import Testing

/// The servers of one test. They end with it, however it ends, and their processes are checked to have exited.
final class Servers: Sendable {
  @TaskLocal static var current: Servers?

  private let servers = Locked<[ServerProcess]>([])

  func add(_ server: ServerProcess) { servers.withLock { $0.append(server) } }

  func stop() async {
    for server in servers.withLock({ $0 }) { await server.stop() }
  }
}

/// Gives each test of a suite its ``Servers``.
struct ServersTrait: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  func scopeProvider(for test: Test, testCase: Test.Case?) -> ServersTrait? { testCase == nil ? nil : self }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let servers = Servers()
    do {
      try await Servers.$current.withValue(servers) { try await function() }
    } catch {
      await servers.stop()
      throw error
    }
    await servers.stop()
  }
}

extension Trait where Self == ServersTrait {
  static var servers: ServersTrait { ServersTrait() }
}

/// All tests against real servers, one at a time: each of them keeps the machine busy by itself.
@Suite(
  .serialized, .servers,
  .timeLimit(.minutes(ProcessInfo.processInfo.environment["HEADGATE_PACE_SECONDS"] == nil ? 2 : 15))
) enum AcceptanceTests {}
