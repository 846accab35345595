import ArgumentParser
import HeadgateDispatch
import HeadgateSharing
import HeadgateThreads

/// `headgate share`: the server of `--share unix` and of `headgate hold`.
struct ShareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Serve limits that programs share.",
    subcommands: [ShareServeCommand.self]
  )
}

/// `headgate share serve`.
struct ShareServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve permits to your programs on this machine.",
    discussion: """
      You rarely need this command: headgate hold and --share unix start the server when they need it, and it ends when \
      nobody has used it for a while. Start it yourself to keep the history of rates while no program runs: \
      --linger says for how long.
      """
  )

  @Option(
    help: ArgumentHelp("Serve this folder. (default: the one in your runtime folder)", valueName: "folder"),
    completion: .directory)
  var folder: String?

  @Option(
    help: ArgumentHelp(
      "How long to stay after the last program and permit. Rates keep the server for up to an hour. (default: 10)",
      valueName: "seconds"), transform: OptionValue.seconds)
  var linger: Duration = .seconds(10)

  @Flag(help: "Serve in the background.")
  var background = false

  func run() async throws {
    let folder = self.folder.map { PermitFolder(path: $0) } ?? .user
    if background { return try ShareServerProcess.startDetached(in: folder) }
    let lane = SerialLane(on: LaneCrew(name: "headgate-serve", size: 1))
    let server: PermitServer?
    do throws(SharingError) { server = try PermitServer.start(in: folder, linger: linger) } catch {
      throw FetchProblem("\(error)")
    }
    guard let server else { return ShareText.say("another server already serves \(folder)") }
    let signals = InterruptSignals { server.stop() }
    try await lane.perform { () throws(SystemError) in server.wait() }
    signals.cancel()
  }
}

/// `headgate status`: who holds and who waits for shared permits.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the permits that programs share.",
    discussion: """
      EXAMPLES
        headgate status
        headgate status unix:/tmp/team
      """
  )

  @Argument(
    help: ArgumentHelp("As for --share. (default: unix)", valueName: "with"),
    completion: .list(["unix", "unix:", "redis://"]), transform: OptionValue.share)
  var share = ShareRule.unix(.user)

  func run() async throws {
    guard case .unix(let folder) = share else { throw ShareRule.noRedis }
    let lines: [String]
    do throws(SharingError) { lines = try PermitStatus.read(from: folder) } catch { throw FetchProblem("\(error)") }
    let text = lines.isEmpty ? ["no program shares permits in \(folder)"] : lines
    for line in text { try Descriptor.write(Array((HeadgateCommandLine.harmless(line) + "\n").utf8), to: 1) }
  }
}

enum ShareText {
  /// Writes a message for the user.
  static func say(_ text: String) {
    try? Descriptor.write(Array((HeadgateCommandLine.harmless("headgate: \(text)") + "\n").utf8), to: 2)
  }
}
