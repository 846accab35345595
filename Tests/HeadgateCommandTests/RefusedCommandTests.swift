import ArgumentParser
import HeadgateDispatch
import HeadgateSharing
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// A refusal that a script tells of.
@Suite struct RefusedCommandTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `A refusal is kept for later runs`() async throws {
    let state = folder.file("state")
    try await RefusedCommand.parse([
      "api.example.com:443", "--retry-after", "21600", "--status", "429", "--state", state,
    ]).run()
    let entry = try #require(try GateState(folder: state).entries().first)
    #expect(entry.endPoint == "api.example.com:443")
    #expect(entry.facts.count == 1 && entry.facts[0].hasPrefix("paused for "), "\(entry.facts)")
    #expect(entry.facts[0].hasSuffix(" by 429"), "\(entry.facts)")
  }

  @Test func `A shorter wait does not shorten what is kept, and a wait is at most a day`() async throws {
    let state = folder.file("state")
    for wait in ["9e8", "1"] {
      try await RefusedCommand.parse(["https://api.example.com/v1", "--retry-after", wait, "--state", state]).run()
    }
    let entry = try #require(try GateState(folder: state).entries().first)
    #expect(entry.facts[0].contains("24 h") || entry.facts[0].contains("23 h 59 min"), "\(entry.facts)")
  }

  @Test func `A permit server keeps what it is told, for programs that share later`() async throws {
    let shared = PermitFolder(path: folder.file("shared"))
    let state = GateState(folder: folder.file("state"))
    let endPoint = try EndPoint(host: "api.example.com", port: 443)
    for _ in 0..<2 {
      let server = try #require(try PermitServer.start(in: shared, state: state))
      try await RefusedCommand.parse([
        "api.example.com:443", "--retry-after", "300", "--share", "unix:\(shared.path)",
      ]).run()
      server.stop()
      server.wait()
    }
    #expect(try state.entries().map(\.endPoint) == ["api.example.com:443"])
    // The next server knows of it, and tells a program that asks.
    let server = try #require(try PermitServer.start(in: shared, state: state))
    let gate = EndPointGate(coordinator: UnixCoordinator(folder: shared))
    do throws(DispatchError) {
      _ = try await gate.permit(for: endPoint, deadline: .seconds(60))
      Issue.record("a permit during the pause")
    } catch {
      #expect(error.code == .pausedUntil)
    }
    server.stop()
  }
}
