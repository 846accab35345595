import ArgumentParser
import HeadgateOrigin
import HeadgateThreads

/// `headgate origin`: the scripted server in a process of its own, told what to do on its standard input. It ends when
/// that does, so that it never outlives whoever started it, however that ended.
struct OriginCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "origin",
    abstract: "A scripted server for the demo.",
    shouldDisplay: false
  )

  @Option(help: "How many ports to listen on.", transform: OptionValue.count)
  var endpoints = 1

  @Option(help: "Connections that are served at once at each port; further ones are left unanswered.")
  var limit: Int?

  @Option(help: "Milliseconds before each answer.")
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
    // What the client has closed is counted as closed before anything new is.
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
