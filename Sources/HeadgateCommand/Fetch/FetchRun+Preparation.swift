import HTTPTypes
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

// Everything that can fail early fails here, before anything is fetched.

extension FetchRun {
  static func openLists(
    _ options: FetchOptions, _ input: Int32
  ) throws(FetchProblem) -> (StopSignal, [InputReader<NumberedLine>]) {
    try Run.openLists("list", options.lists, input) { _ in options.list.format.cutter }
  }

  /// Reports incomplete files of an earlier run, which a run without a session neither continues nor removes.
  func remarkOnParts(_ names: [String]) {
    let parts = names.filter { $0.hasSuffix(".part") }.sorted()
    guard let first = parts.first else { return }
    let others = parts.count > 1 ? " and \(parts.count - 1) more are" : " is"
    report.remark(
      "\(ShownText.of(FileName.path(first, in: options.folder)))\(others) incomplete, from a run that was killed or is "
        + "under way; with --session FILE from the first run on, such files are continued")
  }

  /// - Parameter syncs: Whether it must survive a power cut.
  static func makeFolder(_ folder: String, syncs: Bool) throws(FetchProblem) {
    do throws(SystemError) {
      try Descriptor.makeFolder(folder, syncs: syncs)
    } catch {
      let isFile = error.errno == ENOTDIR && access(folder, F_OK) == 0
      throw FetchProblem(
        isFile
          ? "\(folder) is a file, but -P needs a folder; give another name"
          : "the folder \(folder) can't be made: \(error); give another one with -P")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw FetchProblem("the folder \(folder) can't be written to: \(SystemError.last); give another one with -P")
    }
  }

  /// Refuses to repeat the failures of a session that does not exist, usually a misspelt one: the run would do nothing,
  /// successfully. Nothing has been made then.
  static func checkSession(_ options: FetchOptions) throws(FetchProblem) {
    guard options.retryFailed, let path = options.session else { return }
    guard access(path, F_OK) != 0, errno == ENOENT else { return }
    throw FetchProblem(
      "there is no session \(path), whose failures --retry-failed would repeat; give the file of an earlier run",
      status: .usage)
  }

  /// The journal; nil without `--session`.
  static func openSession(_ options: FetchOptions) throws(FetchProblem) -> Session? {
    guard let path = options.session else { return nil }
    return try Session(
      path, folder: options.folder, retryFailed: options.retryFailed, newer: options.newer,
      overwrites: options.overwrites)
  }

  /// Refuses one Idempotency-Key for all requests of a list whose method may have an effect twice.
  static func checkKey(_ options: FetchOptions) throws(FetchProblem) {
    guard !options.sent.isIdempotent, !options.lists.isEmpty || options.urls.count > 1 || options.retriesAll else {
      return
    }
    try Run.checkKey(options, "use headgate call, whose --idempotency-key auto gives each request its own")
  }

  /// - Parameter isContinued: Whether the run continues a session, and its log the earlier one.
  static func openLog(
    _ path: String?, _ output: Int32, isContinued: Bool, on crew: LaneCrew
  ) throws(FetchProblem) -> LineWriter? {
    guard let path else { return nil }
    if path == "-" { return LineWriter(output, on: crew) }
    do throws(CreationError) {
      return LineWriter(try Descriptor.create(path, existing: isContinued ? .isContinued : .isReplaced), on: crew)
    } catch {
      throw FetchProblem("the log \(path) can't be written: \(error)")
    }
  }
}

// Remarks on requests other than GET.

extension FetchRun {
  /// Points out effects that a user might expect from the options but that they don't have.
  ///
  /// - Parameter otherFailures: The number of failures in the session with other methods and bodies.
  func remarkOnSending(otherFailures: Int) {
    if otherFailures > 0 {
      report.remark(
        "\(otherFailures) URLs of the session failed with another method or body; give the same -X, -d or --json to "
          + "repeat them")
    }
    // Any URL will do: only the method and the fields matter.
    guard options.asksForRetries, options.retries > 0, let sample = try? options.request("http://a/"),
      !options.sent.mayRepeat(sample)
    else {
      return
    }
    report.remark(
      "--retry does not repeat \(options.sent.method.rawValue), which may have an effect twice; an Idempotency-Key field "
        + "or --retry-unsafe allows it")
  }
}
