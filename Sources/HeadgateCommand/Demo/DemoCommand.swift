import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads

/// `headgate demo`.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show the effect of a limit, with a server on this machine. Needs no network; takes up to half a minute.",
    discussion: """
      Starts a server with three end-points. Each request takes 300 ms, and each end-point serves 4 connections at a \
      time and leaves further ones unanswered. Each client does the same work, and the server counts.
      """
  )

  /// Clients that are not part of the command.
  @TaskLocal static var others: [DemoClient] = []

  func run() async throws {
    let origin = try OriginProcess(
      endPoints: DemoWorkload.endPoints,
      limit: DemoWorkload.limit,
      delay: DemoWorkload.delay
    )
    let workload = DemoWorkload(ports: try await origin.ports())
    say(Self.introduction)
    say(DemoTable.head)
    for client in [HeadgateClient.allAtOnce] + Self.others + [HeadgateClient.limited] {
      if Descriptor.isTerminal(1) { say(client.name + " …", end: "\r") }
      let row = try await measure(client, workload, origin)
      say(DemoTable.text(row))
    }
    say(Self.closing)
    await origin.stop()
  }

  // Writes each row as it is complete, to a pipe too.
  private func say(_ text: String, end: String = "\n") { try? Descriptor.write(Array((text + end).utf8), to: 1) }

  private func measure(_ client: DemoClient, _ workload: DemoWorkload, _ origin: OriginProcess) async throws -> DemoRow
  {
    let start = Deadline.now
    let outcome = try await client.run(workload)
    let seconds = (Deadline.now - start).inSeconds
    let counts = try await origin.takeCounts().counts
    return DemoRow(
      name: client.name,
      sockets: counts.map(\.peakSockets).max() ?? 0,
      requests: counts.map(\.peakRequests).max() ?? 0,
      served: counts.map(\.served).reduce(0, +),
      timedOut: outcome.timedOut,
      failed: outcome.failed,
      seconds: seconds,
      explanation: client.explanation
    )
  }

  private static let introduction = """
    Three end-points on this machine. Each serves 4 connections at a time and
    leaves any further one unanswered; each request takes 300 ms. Each client does
    the same work: 200 short requests and 6 streams of 3 s, with a timeout of 2 s.
    The columns "sockets" and "requests" show the maximum at one end-point at a
    time. They and "served" are counted by the server.

    """

  private static let closing = """
    Try next:
      headgate fetch https://example.com/             one URL, to standard output
      headgate fetch -i urls.txt --per-host 4 -P out  a list with one URL per line, into a folder
      headgate fetch -i urls.txt -P out --log l.json  with a record of each URL and its times
      headgate fetch --help
    """
}
