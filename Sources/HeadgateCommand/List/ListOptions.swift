import ArgumentParser

/// Options about what is done with the URLs of lists.
struct ListOptions: ParsableArguments {
  @Flag(
    help: ArgumentHelp(
      "Ask only what status each URL has, and keep no bodies: by HEAD, and by GET, cut off after the head, where that is "
        + "answered with 403, 404, 405 or 501 or not at all. The standard output has a line for each URL as it ends: the "
        + "status or an error's word, the URL, and where it was redirected to, with tabs in between."))
  var check = false

  @Flag(
    help: ArgumentHelp(
      "Fetch a URL once that the list names again; the last line counts the others. The same are URLs that differ in "
        + "nothing but the case of scheme and host, a default port, or an empty path. Takes some 40 bytes of memory for "
        + "each."))
  var dedupe = false

  @Option(
    help: ArgumentHelp(
      "Fetch only the I-th of N parts of the list: 1/3, 2/3 and 3/3 on three machines fetch all of it. A URL is in the same "
        + "part on every machine, whatever the order of the list.",
      valueName: "i/n"),
    transform: { text in try Shard(text) }
  )
  var shard: Shard?

  @Flag(
    help: ArgumentHelp(
      "Send nothing and write no file: tell of each URL what would be done (fetch, check; with --session also resume, renew "
        + "or there) and its file, with tabs in between, and of each host how many URLs it has and its limits."))
  var dryRun = false
}

/// What is done with the URLs of lists.
struct ListRules: Sendable {
  var isCheck = false
  var isDryRun = false
  var dedupes = false
  var shard: Shard?
}

extension ListOptions {
  /// The same, checked.
  var rules: ListRules { ListRules(isCheck: check, isDryRun: dryRun, dedupes: dedupe, shard: shard) }
}

extension FetchCommand {
  /// Refuses what the options about lists can't be given with.
  func checkListOptions() throws {
    guard list.check else { return }
    let others: [(Bool, String)] = [
      (folder != nil, "-P"), (here, "-O"), (overwrite, "--overwrite"), (session.session != nil, "--session"),
      (session.newer, "-N"), (session.retryFailed, "--retry-failed"), (amounts.maxFilesize != nil, "--max-filesize"),
      (amounts.speedLimit != nil, "--speed-limit"), (amounts.speedTime != nil, "--speed-time"),
    ]
    if let other = others.first(where: \.0) {
      throw ValidationError("--check keeps no bodies, and \(other.1) is about bodies: leave out one of the two.")
    }
    guard log != "-" else {
      throw ValidationError(
        "--check has a line for each URL on the standard output: give a file for the log, or - without --check.")
    }
  }
}
