import ArgumentParser

/// What a run writes to standard error.
struct ProgressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How to show progress on standard error: full, a panel; plain, a line every 5 seconds; json, an object every "
        + "second; none; auto, full on a terminal and plain elsewhere. (default: auto)",
      valueName: "auto|full|plain|json|none"
    )
  )
  var progress = ProgressMode.auto

  @Flag(name: [.short, .long], help: "Show no progress and no summary. Errors are still reported.")
  var quiet = false

  @Flag(name: [.short, .long], help: "Write a line for each request.")
  var verbose = false

  var verbosity: FetchOptions.Verbosity { quiet ? .quiet : verbose ? .verbose : .normal }

  func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("-q and -v can't be combined; give one of them.") }
    guard !quiet || [.auto, .none].contains(progress) else {
      throw ValidationError("-q and --progress=\(progress.rawValue) can't be combined; give one of them.")
    }
  }
}
