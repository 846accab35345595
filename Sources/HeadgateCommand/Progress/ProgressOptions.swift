import ArgumentParser

/// How much a run tells on the standard error.
struct ProgressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How the standard error shows progress: full (a panel, on terminals), plain (a line every 5 seconds), json (an "
        + "object every second) or none. auto is full on a terminal and plain elsewhere.",
      valueName: "auto|full|plain|json|none"
    )
  )
  var progress = ProgressMode.auto

  @Flag(name: [.short, .long], help: "No progress and no summary; errors are still reported.")
  var quiet = false

  @Flag(name: [.short, .long], help: "One line for each request.")
  var verbose = false

  var verbosity: FetchOptions.Verbosity { quiet ? .quiet : verbose ? .verbose : .normal }

  func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("-q and -v exclude each other; give one of them.") }
    guard !quiet || [.auto, .none].contains(progress) else {
      throw ValidationError("-q and --progress=\(progress.rawValue) exclude each other; give one of them.")
    }
  }
}
