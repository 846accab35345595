import Foundation
import HeadgateRedis
import Synchronization

/// A Redis server of the tests, on a Unix socket and on a port of its own, in a temporary folder.
final class RedisServer: Sendable {
  /// Redis, or another server that speaks the same, such as Valkey.
  private static let program = ProcessInfo.processInfo.environment["HEADGATE_REDIS_SERVER"] ?? "redis-server"

  let folder: URL
  private let port: Int
  private let options: [String]
  private let process = Mutex<Process?>(nil)

  init(_ options: [String] = [], port: Int = 0) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "hg-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    (self.options, self.port) = (options, port)
    try start()
  }

  deinit {
    kill(SIGKILL)
    try? FileManager.default.removeItem(at: folder)
  }

  var url: String { "unix:\(folder.path)/r.sock" }

  /// - Parameter environment: For the server, such as that of libfaketime.
  func start(_ environment: [String: String] = [:]) throws {
    let server = Process()
    server.executableURL = URL(filePath: "/usr/bin/env")
    server.arguments =
      [
        Self.program, "--port", "\(port)", "--unixsocket", "r.sock", "--dir", folder.path, "--save", "", "--appendonly",
        "yes",
        "--logfile", "log", "--enable-debug-command", "yes",
      ] + options
    server.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    server.currentDirectoryURL = folder
    try server.run()
    process.withLock { $0 = server }
    // A process that has just been started has no event for this.
    for _ in 0..<6_000 {
      if (try? RedisNamespace(url, "ready").status()) != nil { return }
      usleep(10_000)
    }
    throw RedisServerError()
  }

  func kill(_ signal: Int32) {
    process.withLock { server in
      guard let server, server.isRunning else { return }
      _ = Foundation.kill(server.processIdentifier, signal)
      if signal == SIGKILL { server.waitUntilExit() }
    }
  }

  /// Removes all data of a server that is not running.
  func wipe() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("appendonly") {
      try FileManager.default.removeItem(at: folder.appending(path: name))
    }
  }
}

struct RedisServerError: Error {}
