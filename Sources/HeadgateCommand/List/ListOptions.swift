import ArgumentParser

/// Options that select and treat the URLs of lists.
struct ListOptions: ParsableArguments {
  @Flag(
    help: ArgumentHelp(
      "Request only the status of each URL: by HEAD, or by GET, cut off after the head, if HEAD is answered with "
        + "an error or not at all. Standard output has a line for each URL: the status or the error's "
        + "code, the URL, and the redirect target if any, separated by tabs."))
  var check = false

  @Flag(
    help: ArgumentHelp(
      "Fetch each URL once, even if the lists repeat it; the summary counts the duplicates. URLs are equal if they "
        + "differ only in the case of scheme and host, a default port, or an empty path. Takes about 40 bytes of "
        + "memory per URL."
    ))
  var dedupe = false

  @Option(
    help: ArgumentHelp(
      "Fetch only the I-th of N parts of the list: 1/3, 2/3 and 3/3 on three machines fetch all of it. A URL is in "
        + "the same part on every machine, in any order of the list.",
      valueName: "i/n"),
    transform: { text in try Shard(text) }
  )
  var shard: Shard?

  @Option(
    help: ArgumentHelp(
      "The format of lists. lines: one URL per line. aria2: several URLs of one file per line, separated by tabs, each of "
        + "which is tried if those before it fail; indented lines below set out=PATH and checksum=sha-256=DIGITS.",
      valueName: "lines|aria2"
    )
  )
  var listFormat = ListFormat.lines

  @Option(
    name: .customLong("checksum-file"),
    help: ArgumentHelp(
      "SHA-256 checksums in the format of sha256sum, for file names, ends of URL paths, or URLs. A body with another checksum "
        + "is an error, and its file is removed. With --session, existing files are compared too. The log contains the "
        + "checksums. Repeatable.",
      valueName: "file"
    ), completion: .file()
  )
  var checksumFiles: [String] = []

  @Flag(
    help: ArgumentHelp(
      "Send nothing and write no file. For each URL, show the action (fetch, check; with --session also resume, "
        + "renew or done) and its file, separated by tabs; for each host, its number of URLs and its limits."))
  var dryRun = false
}

/// The treatment of the URLs of lists.
struct ListRules: Sendable {
  var isCheck = false
  var isDryRun = false
  var dedupes = false
  var shard: Shard?
  var format = ListFormat.lines
  /// Files with checksums.
  var checksumFiles: [String] = []
}

extension ListOptions {
  /// The options, after validation.
  var rules: ListRules {
    ListRules(
      isCheck: check, isDryRun: dryRun, dedupes: dedupe, shard: shard, format: listFormat, checksumFiles: checksumFiles)
  }
}

extension FetchCommand {
  /// Refuses options that can't be combined with these.
  func checkListOptions() throws {
    guard list.listFormat == .lines || !lists.isEmpty else {
      throw ValidationError("--list-format needs a list: give one with -i FILE.")
    }
    guard list.check else { return }
    let others: [(Bool, String)] = [
      (folder != nil, "-P"), (here, "-O"), (naming.output != nil, "-o"),
      (naming.contentDisposition, "--content-disposition"), (!list.checksumFiles.isEmpty, "--checksum-file"),
      (overwrite, "--overwrite"), (session.session != nil, "--session"),
      (session.newer, "-N"), (session.retryFailed, "--retry-failed"), (amounts.maxFilesize != nil, "--max-filesize"),
      (amounts.speedLimit != nil, "--speed-limit"), (amounts.speedTime != nil, "--speed-time"),
    ]
    if let other = others.first(where: \.0) {
      throw ValidationError(
        "--check and \(other.1) can't be combined, since --check keeps no bodies; give one of them.")
    }
    guard sending.method == nil, sending.source == nil else {
      throw ValidationError("--check sends HEAD and GET without a body: leave out -X, -d and --json.")
    }
    guard log != "-" else {
      throw ValidationError(
        "--check writes a line for each URL to standard output; give a file for the log.")
    }
  }
}
