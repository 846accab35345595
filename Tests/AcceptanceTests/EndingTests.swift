import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Every way in which a run of the command ends, in a separate process.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct EndingTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
    }

    /// A server whose certificate has no known authority, for the endings that need one.
    private func secureServer(for ending: Ending) async throws -> String? {
      guard ending.line.contains("$TLS") else { return nil }
      let certificates = try await Certificates(in: folder)
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here")) }"
      }
      return "https://127.0.0.1:\(nginx.ports[0])"
    }

    /// Sends the signals, each after the response to the one before it, and then releases the requests that may be
    /// finished.
    private func interrupt(_ line: ShellLine, by signals: [Int32]) async throws {
      #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
      for (place, signal) in signals.enumerated() {
        line.send(signal)
        guard place == 0 else { continue }
        _ = try await eventually("it says what it waits for") { line.messages.contains("interrupt again") ? true : nil }
      }
      if signals.count == 1 { origin.release() }
    }

    @Test(
      "A run ends with its exit status, and with a last line that counts the outcomes of the URLs",
      arguments: Ending.all)
    func ending(_ ending: Ending) async throws {
      var variables = ["ORIGIN": "http://127.0.0.1:\(origin.port)"]
      variables["TLS"] = try await secureServer(for: ending)
      let line = try ShellLine(ending.line, in: folder, variables: variables, hasReader: ending.hasReader)
      if !ending.signals.isEmpty { try await interrupt(line, by: ending.signals) }
      let (status, _, messages) = await line.finish()
      #expect(status == ending.status, "\(messages)")
      let lines = messages.split(separator: "\n")
      #expect(lines.last?.hasPrefix(ending.last) == true, "\(messages)")
      #expect(messages.hasSuffix("\n"), "\(messages)")
      if let says = ending.says { #expect(messages.contains(says), "\(messages)") } else { #expect(lines.count == 1) }
      #expect(folder.names(in: "out").allSatisfy { !$0.hasSuffix(".part") })
    }
  }
}
