import Foundation
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateRedis

/// Redis's own TLS, reached by the configuration of stunnel in docs/sharing.md.
@Suite struct TLSTests {
  private let folder: URL
  private let tlsPort = Int.random(in: 20_000...24_999)
  private let port = Int.random(in: 25_000...29_999)

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "hg-tls-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  @Test("A tunnel to Redis's TLS port carries permits, and only to the server of that name")
  func tunnel() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let openssl = try run(
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=limits.example",
      "-addext", "subjectAltName=DNS:limits.example", "-keyout", file("key.pem"), "-out", file("ca.pem"))
    openssl.waitUntilExit()
    try #require(openssl.terminationStatus == 0)
    let server = try RedisServer([
      "--tls-port", "\(tlsPort)", "--tls-cert-file", file("ca.pem"), "--tls-key-file", file("key.pem"),
      "--tls-auth-clients", "no",
    ])
    try RedisNamespace(server.url).configure(version: 1)
    let tunnel = try startTunnel(to: "limits.example")
    defer { stop(tunnel) }
    let coordinator = try RedisCoordinator("redis://127.0.0.1:\(port)", lease: .seconds(1))
    var limits = GateLimits.standard
    limits.endPoint = try EndPointLimits(requests: 1)
    let demand = SharedDemand(for: try EndPoint(host: "example.com", port: 1), limits: limits)
    let permit = try await coordinator.permit(for: demand)
    let scopes = try RedisNamespace(server.url).status().scopes
    #expect(scopes.map(\.running) == [1])
    permit.release()
    stop(tunnel)

    let other = try startTunnel(to: "other.example")
    defer { stop(other) }
    #expect(throws: RedisError.self) { try RedisNamespace("redis://127.0.0.1:\(port)").status() }
    withExtendedLifetime(server) {}
  }

  private func file(_ name: String) -> String { folder.appending(path: name).path }

  private func run(_ words: String...) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private func stop(_ process: Process) {
    guard process.isRunning else { return }
    // A child of a thread that blocks SIGTERM blocks it, too.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Starts stunnel, and returns once it listens.
  private func startTunnel(to host: String) throws -> Process {
    let configuration = """
      foreground = yes
      pid =
      [redis]
      client = yes
      accept = 127.0.0.1:\(port)
      connect = 127.0.0.1:\(tlsPort)
      CAfile = \(file("ca.pem"))
      checkHost = \(host)
      verifyChain = yes
      """
    try configuration.write(toFile: file("stunnel.conf"), atomically: true, encoding: .utf8)
    let process = try run("stunnel", file("stunnel.conf"))
    // A process that has just been started has no event for this.
    for _ in 0..<6_000 {
      let place = RedisURL.Place.host("127.0.0.1", port: "\(port)")
      if (try? RedisSocket.connect(to: place, by: .after(.seconds(1)))) != nil { return process }
      usleep(10_000)
    }
    throw RedisServerError()
  }
}
