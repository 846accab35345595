import ArgumentParser
import HeadgateDispatch
import HeadgateLibC

/// Where runs keep what servers have said.
struct StateOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep in this folder, for later runs, what hosts have said: pauses, exhausted quotas, learned limits and outages, and "
        + "the starts in the periods of --rate that are a minute or longer. Later runs can only wait longer and send less "
        + "because of it. With this option, hosts of this machine are kept too. "
        + "(default: $XDG_STATE_HOME/headgate, or else ~/.local/state/headgate; none with --retry-after cap or ignore)",
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

  /// `$XDG_STATE_HOME/headgate`, or that in `~/.local/state`. Nil without a home of this user's own: with another user's,
  /// as after `sudo -E`, folders would be made there that the other user can't use.
  static func usual(
    _ environment: (String) -> String? = Environment.value(of:), isOwn: (String) -> Bool = Descriptor.isOwnFolder
  ) -> StatePlace? {
    guard let folder = XDGFolder("XDG_STATE_HOME", orInHome: ".local/state", environment), isOwn(folder.base) else {
      return nil
    }
    return StatePlace(folder: folder.path, isChosen: false)
  }

  /// Why there is no usual folder, if there is none: the value that is not used.
  static func whyNotUsual(_ environment: (String) -> String? = Environment.value(of:)) -> String {
    guard let folder = XDGFolder("XDG_STATE_HOME", orInHome: ".local/state", environment) else {
      return "neither XDG_STATE_HOME nor HOME is set to an absolute path"
    }
    let problem =
      switch Descriptor.isFolder(folder.base) {
      case true?: "belongs to another user"
      case false?: "is not a folder"
      case nil: "does not exist"
      }
    return "\(folder.variable) is \(folder.base), which \(problem)"
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

extension Descriptor {
  /// Whether there is a folder at a path, and this user owns it.
  static func isOwnFolder(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR && info.st_uid == geteuid()
  }
}
