import ArgumentParser
import HeadgateDispatch

/// Where runs keep what servers have said.
struct StateOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep in this folder, for later runs, what hosts have said: pauses, exhausted quotas, learned limits and outages, and "
        + "the starts in the periods of --rate that are a minute or longer. Later runs can only wait longer and send less "
        + "because of it. With this option, hosts of this machine are kept too. "
        + "(default: $XDG_STATE_HOME/headgate, or else ~/.local/state/headgate)",
      valueName: "folder"
    ), completion: .directory
  )
  var state: String?

  @Flag(help: "Keep nothing for later runs, and use nothing of earlier ones.")
  var noState = false

  func validate() throws {
    guard state == nil || !noState else {
      throw ValidationError("--state and --no-state can't be combined; give one of them.")
    }
    guard state != "" else { throw ValidationError("--state needs the name of a folder; . is the current one.") }
  }

  /// Where state is kept. Nil: nowhere.
  var place: StatePlace? {
    if noState { return nil }
    return state.map { StatePlace(folder: $0, isChosen: true) } ?? .usual()
  }
}

/// A folder for state.
struct StatePlace: Hashable, Sendable {
  let folder: String
  /// Whether the user has named it.
  let isChosen: Bool

  /// `$XDG_STATE_HOME/headgate`, or that in `~/.local/state`. Nil without a home.
  static func usual(_ environment: (String) -> String? = Environment.value(of:)) -> StatePlace? {
    let folder = XDGFolder.path("XDG_STATE_HOME", orInHome: ".local/state", environment)
    return folder.map { StatePlace(folder: $0, isChosen: false) }
  }

  /// The state of the folder. Hosts of this machine are kept only in a folder that the user has named: another server
  /// may use the port of one that is gone.
  ///
  /// - Parameter report: Called once, with a sentence, if the folder can't be used.
  func open(report: @escaping @Sendable (String) -> Void) -> GateState {
    let path = folder.hasPrefix("/") ? folder : (Descriptor.currentFolder ?? "") + "/" + folder
    return GateState(folder: path, keepsLoopback: isChosen, report: report)
  }
}
