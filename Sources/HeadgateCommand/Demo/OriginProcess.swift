import HeadgateDispatch
import HeadgateThreads

/// The demo's origin in a separate process, so that it counts independently and does not compete for threads.
struct OriginProcess: Sendable {
  private let process: Int32
  private let input: Int32
  private let output: Int32
  private let lane = SerialLane(on: LaneCrew(name: "headgate-demo", size: 1))

  /// Starts this program as `headgate origin`.
  init(endPoints: Int, limit: Int, delay: Duration) throws {
    let (commands, replies) = (try Descriptor.pipe(), try Descriptor.pipe())
    process = try OwnProgram.start(
      [
        "origin", "--endpoints", "\(endPoints)", "--limit", "\(limit)", "--delay",
        "\(delay.wholeNanoseconds / 1_000_000)",
      ], (commands.reader, replies.writer, 2))
    // This process closes its copies of the child's ends: otherwise the child's output would never end.
    Descriptor.close(commands.reader)
    Descriptor.close(replies.writer)
    (input, output) = (commands.writer, replies.reader)
  }

  /// The ports. Read once, before everything else.
  func ports() async throws -> [UInt16] { try await nextReply().ports }

  /// The counts of each end-point since the last call. Waits until all connections are closed.
  func takeCounts() async throws -> OriginReply {
    try Descriptor.write(Array("reset\n".utf8), to: input)
    return try await nextReply()
  }

  /// Ends the process. Returns when it has ended. Called once.
  func stop() async {
    Descriptor.close(input)
    await lane.perform {
      OwnProgram.wait(for: process)
      Descriptor.close(output)
    }
  }

  private func nextReply() async throws -> OriginReply {
    let line = try await lane.perform { () throws(SystemError) in try Descriptor.readLine(output) }
    guard !line.isEmpty else { throw FetchProblem("the demo's server has ended unexpectedly") }
    return try OriginReply(line: line)
  }
}
