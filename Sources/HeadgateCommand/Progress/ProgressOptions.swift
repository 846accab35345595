import ArgumentParser
import HeadgateDispatch

/// What a run writes to standard error.
struct ProgressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How to show progress on standard error: full, a panel; plain, a line every 5 seconds; json, an object every "
        + "second, and each message as an object; json:3, the objects on descriptor 3, and messages as text; none; auto, "
        + "full on a terminal and plain elsewhere. (default: auto)",
      valueName: "auto|full|plain|json|json:n|none"
    ),
    completion: .list(ProgressMode.allCases.map(\.rawValue)),
    transform: ProgressChoice.init
  )
  var progress = ProgressChoice(mode: .auto)

  @Flag(name: [.short, .long], help: "Show no progress and no summary. Errors are still reported.")
  var quiet = false

  @Flag(name: [.short, .long], help: "Write a line for each request.")
  var verbose = false

  var verbosity: FetchOptions.Verbosity { quiet ? .quiet : verbose ? .verbose : .normal }

  func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("-q and -v can't be combined; give one of them.") }
    guard !quiet || [.auto, .none].contains(progress.mode) || progress.descriptor != nil else {
      throw ValidationError("-q and --progress=\(progress.mode.rawValue) can't be combined; give one of them.")
    }
  }
}

/// The value of `--progress`.
struct ProgressChoice: Hashable, Sendable {
  var mode: ProgressMode
  /// Where the objects of `json` go. Nil for standard error.
  var descriptor: Int32?
}

extension ProgressChoice {
  /// Reads a mode, or `json:3`.
  init(_ text: String) throws(OptionError) {
    if let mode = ProgressMode(rawValue: text) {
      self.init(mode: mode)
      return
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == ProgressMode.json.rawValue, let descriptor = Int32(parts[1]), descriptor > 2
    else { throw OptionError("write auto, full, plain, json, json:N (an open descriptor above 2) or none") }
    guard Descriptor.isOutput(descriptor) else {
      throw OptionError("descriptor \(descriptor) is not open for writing: in a shell, \(descriptor)>FILE opens it")
    }
    self.init(mode: .json, descriptor: descriptor)
  }
}
