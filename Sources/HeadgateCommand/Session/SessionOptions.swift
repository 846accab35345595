import ArgumentParser

/// Options that continue an earlier run.
struct SessionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep a journal in this file, and continue the run that it describes: after an interrupt, a kill or a power "
        + "cut, the same command fetches only what is missing. The list may have changed. A missing file is created, "
        + "for its owner alone. It contains URLs, without their passwords.",
      valueName: "file"
    ), completion: .file()
  )
  var session: String?

  @Flag(
    help: ArgumentHelp(
      "With --session: fetch only URLs that failed in earlier runs; with a list, only those of the list."))
  var retryFailed = false

  @Flag(
    name: [.customShort("N"), .long],
    help: ArgumentHelp(
      "With --session: check complete files at the server (ETag, Last-Modified), and replace those that have changed."))
  var newer = false

  /// Refuses options that are useless without a journal. Not in `validate`, so that other options are refused first,
  /// with better reasons.
  func checkUse() throws {
    guard session != nil || !retryFailed else {
      throw ValidationError("--retry-failed needs a session; give --session FILE too.")
    }
    guard session != nil || !newer else {
      throw ValidationError("-N needs the journal of a session; give --session FILE too.")
    }
  }
}
