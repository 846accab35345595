import Foundation
import HeadgateRedis

/// The Redis server of this example, on a free port. It writes no files.
struct RedisServer {
  let url: String
  private let process: Process

  init() throws {
    // If another program uses the port, the next one is tried.
    for port in Int.random(in: 20_000...28_000)... {
      let server = Process()
      server.executableURL = URL(filePath: "/usr/bin/env")
      server.arguments = [
        "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
      ]
      server.standardOutput = FileHandle.nullDevice
      try server.run()
      let url = "redis://127.0.0.1:\(port)"
      while server.isRunning {
        // Connections are refused until the server listens.
        if (try? RedisNamespace(url).status()) != nil {
          (self.url, process) = (url, server)
          return
        }
        usleep(10_000)
      }
      guard server.terminationStatus != 127 else { break }
    }
    throw CocoaError(.executableNotLoadable)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
