import Foundation

extension ServerProcess {
  /// The interpreter that runs the scripts: the system's own, if there is one.
  static var python: String {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") ? "/usr/bin/python3" : "python3"
  }

  /// Waits until a server has written `ready`, its process and its port to its output file; returns the port.
  func waitForPort(saidIn name: String, of folder: TemporaryFolder) async throws -> Int {
    var port = 0
    try await waitUntilReady {
      let said = folder.text(of: name) ?? ""
      let words = said.split(separator: " ")
      guard said.hasSuffix("\n"), words.first == "ready", words.count == 3 else { return nil }
      port = Int(words[2].dropLast()) ?? 0
      return pid_t(words[1])
    }
    return port
  }
}
