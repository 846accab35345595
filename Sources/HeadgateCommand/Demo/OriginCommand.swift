import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads

/// `headgate origin`: the scripted server in a process of its own, with commands on its standard input. It ends at the
/// end of its input, so that it never outlives the process that started it.
struct OriginCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "origin",
    abstract: "A scripted server for the demo.",
    shouldDisplay: false
  )

  @Option(help: "The number of ports to listen on.", transform: OptionValue.count)
  var endpoints = 1

  @Option(help: "The number of connections served at a time at each port; further ones are left unanswered.")
  var limit: Int?

  @Option(help: "The delay before each response, in milliseconds.")
  var delay = 0

  func run() async throws {
    let origin = try Origin(
      endPoints: endpoints,
      script: OriginScript(connectionLimit: limit, delay: .milliseconds(delay))
    )
    try reply(OriginReply(ports: origin.ports))
    let commands = try InputReader("-", cutter: LineSplitter(), stop: StopSignal())
    while case .items(let lines) = try await commands.next() {
      for case .url(let command) in lines.map(\.line) { try await obey(command, origin) }
    }
    origin.stop()
  }

  private func obey(_ command: String, _ origin: Origin) async throws {
    // Connections that the client has closed are counted as closed before the next counts begin.
    if command == "reset" {
      for index in origin.ports.indices {
        _ = await origin.waitUntil({ $0.sockets == 0 }, endPoint: index, until: .after(.seconds(2)))
      }
    }
    try reply(OriginReply(ports: origin.ports, counts: origin.ports.indices.map { origin.counts(endPoint: $0) }))
    if command == "reset" { origin.resetCounts() }
  }

  private func reply(_ reply: OriginReply) throws { try Descriptor.write(reply.line(), to: 1) }
}
