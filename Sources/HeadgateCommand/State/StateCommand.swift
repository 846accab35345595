import ArgumentParser
import HeadgateDispatch

/// `headgate state`: what is kept of hosts for later runs.
struct StateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "state",
    abstract: "Show or clear what is kept of hosts for later runs.",
    discussion: """
      fetch and call keep what hosts have said: pauses, exhausted quotas, learned limits and outages. Each line has a host \
      and what is kept of it, separated by tabs.

      EXAMPLES
        headgate state
        headgate state --clear api.example.com
        headgate state --clear '*'
      """
  )

  @Option(
    help: ArgumentHelp(
      "The folder. (default: $XDG_STATE_HOME/headgate, or else ~/.local/state/headgate)", valueName: "folder"),
    completion: .directory
  )
  var state: String?

  @Option(
    help: ArgumentHelp(
      "Forget the hosts of this pattern: a host, *.domain or *, optionally with :port. Repeatable.",
      valueName: "host"),
    transform: OptionValue.pattern
  )
  var clear: [HostPattern] = []

  func validate() throws {
    guard state != "" else { throw ValidationError("--state needs the name of a folder; . is the current one.") }
  }

  func run() throws {
    guard let place = state.map({ StatePlace(folder: $0, isChosen: true) }) ?? .usual() else {
      throw FetchProblem("\(StatePlace.whyNotUsual()); name the folder with --state", status: .usage)
    }
    let state = place.open { _ in }
    do {
      guard clear.isEmpty else {
        let count = try clear.reduce(0) { try $0 + state.clear($1) }
        return print("forgot \(count) \(count == 1 ? "host" : "hosts")")
      }
      for entry in try state.entries() {
        print(([entry.endPoint] + entry.facts).map { ShownText.of($0) }.joined(separator: "\t"))
      }
    } catch {
      throw FetchProblem("\(error)")
    }
  }
}

extension OptionValue {
  /// A host, `*.domain` or `*`, optionally with a port.
  static func pattern(_ text: String) throws(OptionError) -> HostPattern {
    do throws(LimitError) { return try HostPattern(text) } catch { throw OptionError("\(error)") }
  }
}
