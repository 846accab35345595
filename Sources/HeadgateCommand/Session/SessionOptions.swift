import ArgumentParser

/// Options about going on with an earlier run.
struct SessionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep a journal in this file, and go on with what it tells of: the same command after an interrupt, a kill or a power "
        + "cut fetches what is missing and nothing else. The list may have changed meanwhile. One that is missing is made, "
        + "for its owner alone. It has URLs in it, without their passwords.",
      valueName: "file"
    )
  )
  var session: String?

  @Flag(
    help: ArgumentHelp(
      "With --session: ask only for what failed in earlier runs; of a list, if there is one, else for all of that."))
  var retryFailed = false

  @Flag(
    name: [.customShort("N"), .long],
    help: ArgumentHelp(
      "With --session: ask again for what is there, and replace what has changed since (ETag, Last-Modified)."))
  var newer = false

  func validate() throws {
    guard session != "" else { throw ValidationError("--session needs the name of a file.") }
  }

  /// Refuses what is of no use without a journal. Not in `validate`: other options are refused with better reasons first.
  func checkUse() throws {
    guard session != nil || !retryFailed else {
      throw ValidationError("--retry-failed is about a session's journal: give --session FILE as well.")
    }
    guard session != nil || !newer else {
      throw ValidationError(
        "-N is about a session's journal, which knows what was fetched: give --session FILE as well.")
    }
  }
}
