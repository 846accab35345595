import Foundation

/// The servers of a folder in which commands share permits.
enum PermitServers {
  /// The processes that serve a folder.
  static func serving(_ folder: String) -> [pid_t] {
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.compactMap { pid_t($0) }.filter { process in
      let line = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
      let words = line.split(separator: "\0")
      return words.contains("serve") && words.contains(Substring(folder)) && !words.contains("--background")
    }
  }

  /// Ends them with a signal, and removes the folder.
  static func end(in folder: String, by signal: Int32) {
    for server in serving(folder) { kill(server, signal) }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
