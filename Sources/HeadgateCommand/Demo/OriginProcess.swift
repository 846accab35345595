import Foundation
import HeadgateThreads

/// The demo's origin in a separate process, so that it counts independently and does not compete for threads.
final class OriginProcess: Sendable {
  private let process: Process
  private let input = Pipe()
  private let output = Pipe()
  private let lane = SerialLane(on: LaneCrew(name: "headgate-demo", size: 1))

  /// Starts this program as `headgate origin`.
  init(endPoints: Int, limit: Int, delay: Duration) throws {
    process = Process()
    guard let program = Bundle.main.executableURL else {
      throw FetchProblem("this program can't find its executable file; start it with its full path")
    }
    process.executableURL = program
    process.arguments = [
      "origin", "--endpoints", "\(endPoints)", "--limit", "\(limit)", "--delay",
      "\(delay.wholeNanoseconds / 1_000_000)",
    ]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    // This process closes its copies of the child's ends: otherwise the child's output would never end.
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  /// The ports. Read once, before everything else.
  func ports() async throws -> [UInt16] { try await nextReply().ports }

  /// The counts of each end-point since the last call. Waits until all connections are closed.
  func takeCounts() async throws -> OriginReply {
    try input.fileHandleForWriting.write(contentsOf: Data("reset\n".utf8))
    return try await nextReply()
  }

  /// Ends the process. Returns when it has ended.
  func stop() async {
    try? input.fileHandleForWriting.close()
    while (try? await nextReply()) != nil {}
  }

  private func nextReply() async throws -> OriginReply {
    let descriptor = output.fileHandleForReading.fileDescriptor
    let line = try await lane.perform { () throws(SystemError) in try Descriptor.readLine(descriptor) }
    guard !line.isEmpty else { throw FetchProblem("the demo's server has ended unexpectedly") }
    return try OriginReply(line: line)
  }
}
