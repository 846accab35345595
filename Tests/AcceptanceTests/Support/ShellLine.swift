import Foundation
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// A line for the shell, in which `headgate` is the command that was built with the tests.
final class ShellLine: Sendable {
  private let folder: TemporaryFolder
  private let started: StartedProcess
  private let name = "line-\(UUID().uuidString)"

  /// Starts it in a folder.
  ///
  /// - Parameters:
  ///   - line: What a person would type.
  ///   - folder: Where it runs. Its output and its messages go to files beside the folder's own.
  ///   - variables: Set for it, besides those of the tests without any proxy.
  ///   - hasReader: False: nobody reads its output, which is a pipe that is closed.
  init(
    _ line: String, in folder: TemporaryFolder, variables: [String: String] = [:], hasReader: Bool = true
  ) throws {
    self.folder = folder
    let process = Process()
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    let program = URL(fileURLWithPath: try #require(Tool.headgate))
    environment["PATH"] = program.deletingLastPathComponent().path + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment.merge(variables) { $1 }
    process.environment = environment
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line]
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardInput = FileHandle.nullDevice
    let name = name
    for suffix in ["out", "err"] { try folder.write([], to: "\(name).\(suffix)") }
    func file(_ suffix: String) throws -> FileHandle {
      try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("\(name).\(suffix)")))
    }
    process.standardError = try file("err")
    if hasReader {
      process.standardOutput = try file("out")
    } else {
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      process.standardOutput = pipe
    }
    started = try StartedProcess(process)
  }

  /// Runs it to its end, which must come within five minutes.
  func finish() async -> (status: Int32, output: [UInt8], messages: String) {
    let status = await started.finish()
    return (status, folder.bytes(of: "\(name).out") ?? [], messages)
  }

  /// Its standard error so far.
  var messages: String { folder.text(of: "\(name).err") ?? "" }

  func send(_ signal: Int32) { started.send(signal) }
}
