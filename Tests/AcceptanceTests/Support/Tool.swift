import Foundation

/// A program that runs and ends.
struct Tool {
  let status: Int32
  let output: [UInt8]
  let messages: String

  /// Runs it to its end, without input. The end must come within five minutes.
  ///
  /// - Parameter environment: Added to that of the tests.
  init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws {
    let folder = try TemporaryFolder()
    for name in ["output", "messages"] { try folder.write([], to: name) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = environment.map { "\($0.key)=\($0.value)" } + [program] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("output")))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("messages")))
    status = try await StartedProcess(process).finish()
    output = folder.bytes(of: "output") ?? []
    messages = folder.text(of: "messages") ?? ""
  }

  /// Whether a program is in one of the folders of the path.
  static func has(_ program: String) -> Bool {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
  }

  /// The `headgate` that was built with the tests; nil if it was not.
  static var headgate: String? {
    let folder = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map {
      URL(fileURLWithPath: $0).deletingLastPathComponent().path
    }
    return folder.map { $0 + "/headgate" }.flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }
  }
}
