import ArgumentParser
import Dispatch
import HeadgateCurl

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The command line: everything but the process itself.
public enum HeadgateCommandLine {
  /// Runs the process's own arguments and ends the process with the exit status.
  public static func main() -> Never {
    // An asynchronous `main` would come too late for this: the runtime opens descriptors for its queues.
    Descriptor.fillStandardStreams()
    Task.detached { exit(await run(Array(CommandLine.arguments.dropFirst()))) }
    dispatchMain()
  }

  /// Runs these arguments and returns the exit status.
  static func run(_ arguments: [String]) async -> Int32 {
    do {
      var command = try RootCommand.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return ExitStatus.ok.rawValue
    } catch let problem as FetchProblem {
      say("headgate: \(problem)\n", on: 2)
      return problem.status.rawValue
    } catch {
      return end(with: error)
    }
  }

  private static func end(with error: any Error) -> Int32 {
    let code = RootCommand.exitCode(for: error)
    let message = RootCommand.fullMessage(for: error)
    let isGood = code == .success
    if !message.isEmpty { say(message + "\n", on: isGood ? 1 : 2) }
    // sysexits.h's code for misuse is 64; shells and most tools say 2.
    return code == .validationFailure ? ExitStatus.usage.rawValue : code.rawValue
  }

  // Where not even this can be written, there is nobody to tell.
  private static func say(_ text: String, on descriptor: Int32) {
    try? Descriptor.write(Array(text.utf8), to: descriptor)
  }
}

/// `headgate` without a subcommand.
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "headgate",
    abstract: "Fetches any number of URLs, and never asks an end-point for more at once than it tolerates.",
    discussion: """
      EXAMPLES
        headgate demo
        headgate fetch -i urls.txt --per-host 4 -P out
      """,
    version: "headgate \(HeadgateVersion.current) (\(CurlTransport.libraryVersion))",
    subcommands: [FetchCommand.self, DemoCommand.self, OriginCommand.self]
  )
}
