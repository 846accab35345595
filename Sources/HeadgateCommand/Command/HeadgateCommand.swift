import ArgumentParser
import Dispatch
import HeadgateCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// The command line, without the process itself.
public enum HeadgateCommandLine {
  /// Runs the process's own arguments, and ends the process with the exit status.
  ///
  /// - Parameter clients: Further clients for `headgate demo`.
  package static func main(demo clients: [DemoClient] = []) -> Never {
    // In an asynchronous `main` it would be too late: the runtime has opened descriptors for its queues by then.
    Descriptor.fillStandardStreams()
    OpenFiles.raise()
    do throws(FetchProblem) {
      try ThreadSupply.check()
    } catch {
      exit(end(with: error))
    }
    Task.detached {
      exit(await DemoCommand.$others.withValue(clients) { await run(Array(CommandLine.arguments.dropFirst())) })
    }
    dispatchMain()
  }

  /// Runs the given arguments and returns the exit status.
  static func run(_ given: [String]) async -> Int32 {
    var (arguments, settings) = (given, [String]())
    do {
      (arguments, settings) = try SettingsFile.added(to: HoldArguments.completed(given))
      var command = try RootCommand.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return ExitStatus.ok.rawValue
    } catch let problem as FetchProblem {
      return end(with: problem)
    } catch {
      return end(with: error, arguments, settings)
    }
  }

  private static func end(with problem: FetchProblem) -> Int32 {
    say("headgate: \(problem)", on: 2)
    return problem.status.rawValue
  }

  /// - Parameter settings: The files that some of the arguments come from.
  private static func end(with error: any Error, _ arguments: [String], _ settings: [String]) -> Int32 {
    let code = RootCommand.exitCode(for: error)
    let said = adviceOnSubcommand(arguments, isParsed: code == .success)
    let isGood = code == .success && said == nil
    var message = withoutPasswords(
      said ?? OptionAdvice.added(to: RootCommand.fullMessage(for: error)), arguments)
    if isGood, arguments.first?.hasPrefix("--generate-completion-script") == true {
      message = CompletionScript.mended(message)
    }
    if code == .validationFailure, !settings.isEmpty {
      message += "\nThe options of \(settings.joined(separator: " and ")) are among these; see --no-config."
    }
    if !message.isEmpty { say(message, on: isGood ? 1 : 2) }
    // The status for misuse in sysexits.h is 64; shells and most tools use 2.
    return said != nil || code == .validationFailure ? ExitStatus.usage.rawValue : code.rawValue
  }

  /// The message if the first argument, or the one after `help`, is not a subcommand; nil if it is one.
  ///
  /// - Parameter isParsed: Whether the parser has no objection, for which an option need not follow a subcommand.
  private static func adviceOnSubcommand(_ arguments: [String], isParsed: Bool) -> String? {
    let named = arguments.first == "help" ? arguments.dropFirst().first : arguments.first
    guard let named, !(isParsed && named.hasPrefix("-")) else { return nil }
    let names = RootCommand.configuration.subcommands.map { $0.configuration.commandName }
    guard named != "help", !names.contains(named) else { return nil }
    return "headgate: \"\(named)\" is not a subcommand; begin with one, such as headgate fetch -i FILE or "
      + "headgate fetch URL; see headgate --help"
  }

  /// A message of the parser, which quotes arguments, with passwords in URLs, values of header fields and passphrases
  /// of keys hidden.
  static func withoutPasswords(_ message: String, _ arguments: [String]) -> String {
    var message = SecretArguments.hidden(in: message, arguments)
    for argument in arguments {
      // Quoted as a whole, or without the option's name.
      let value = argument.firstIndex(of: "=").map { String(argument[argument.index(after: $0)...]) }
      for text in [value, argument].compactMap({ $0 }) where text.contains("@") && text.contains(":") {
        message = message.replacing(text, with: ShownText.withoutPassword(text))
      }
    }
    return message
  }

  /// Makes a text of several lines safe for a terminal: arguments and file names may come from anywhere.
  static func harmless(_ text: String) -> String {
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.map { ShownText.of(String($0), atMost: 8_000) }.joined(separator: "\n")
  }

  // If this fails, there is no way left to report anything.
  private static func say(_ text: String, on descriptor: Int32) {
    try? Descriptor.write(Array((harmless(text) + "\n").utf8), to: descriptor)
  }
}

/// `headgate` without a subcommand.
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "headgate",
    abstract: "Fetches any number of URLs, without exceeding the limits of any end-point.",
    discussion: """
      EXAMPLES
        headgate demo
        headgate fetch -i urls.txt --per-host 4 -P out
        headgate call -i rows.ndjson --url 'https://api.example.com/items/{id}' \\
          -o results.ndjson
      """,
    version: "headgate \(HeadgateVersion.current) (\(CurlTransport.libraryVersion))",
    subcommands: [
      FetchCommand.self, CallCommand.self, HoldCommand.self, RefusedCommand.self, ReportCommand.self,
      StatusCommand.self, StateCommand.self,
      ShareCommand.self, DemoCommand.self, OriginCommand.self,
    ]
  )
}

/// Corrects a mistake in the completion script that the argument parser generates.
enum CompletionScript {
  /// The script without names that contain a dot in the lists for fish's `argparse`: one such name makes it refuse the
  /// whole list, and with it all completions of the subcommand. The options themselves are still offered.
  static func mended(_ script: String) -> String {
    let lines = script.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.contains("__headgate_parse_subcommand ") else { return String(line) }
      return line.split(separator: " ", omittingEmptySubsequences: false)
        .filter { !($0.hasPrefix("'") && $0.contains(".")) }.joined(separator: " ")
    }
    return lines.joined(separator: "\n")
  }
}
