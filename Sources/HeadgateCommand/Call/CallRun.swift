import HeadgateDispatch
import HeadgateThreads

/// One run of `headgate call`: reads rows as fast as they are processed, and writes a result for each.
final class CallRun: CommandRun {
  /// The maximum number of rows in progress, so that a slow host does not delay the others. A row longer than ``share``
  /// counts as several, so that long rows don't fill the memory.
  static let window = 1024
  private static let share = 64 * 1024

  /// The number of places that a row of a given size takes.
  static func places(_ size: Int) -> Int { min(window, max(1, size / share)) }

  let core: Run
  let options: CallOptions
  let outcomes: CallReport
  let journal: CallJournal
  let lists: [InputReader<RawRow>]
  let room = Semaphore(name: "headgate-call", permits: CallRun.window)
  /// Assigns the paths of files. Nil without `--save`.
  let paths: FilePaths?
  /// Lists and makes folders.
  let folders: SerialLane
  let hasToldOfNumbers = Locked(false)
  private let hasBroken = Locked(false)
  /// The number of rows for which no time was left.
  let late = Locked(0)

  /// Opens everything that the run needs.
  ///
  /// - Throws: ``FetchProblem`` if something could not be opened or created. Nothing was sent then.
  init(_ options: CallOptions, streams: Run.Streams = Run.Streams()) throws(FetchProblem) {
    let started = Deadline.now
    var options = options
    try options.check(streams.input)
    self.options = options
    let stop: StopSignal
    (stop, lists) = try Self.openLists(options, streams.input)
    try FetchRun.checkOwnFiles(options.ownFiles, lists)
    try Run.checkTrust(options.requests)
    if options.save != nil { try FetchRun.makeFolder(options.folder, syncs: options.session != nil) }
    core = try Run(
      options.requests, streams, started: started, stop: stop, printsBodies: options.results == nil,
      isKept: options.session != nil)
    journal = try CallJournal(
      session: options.session, results: options.results, output: streams.output, requests: options.requestsDigest,
      on: core.crew)
    outcomes = CallReport(core.report)
    folders = SerialLane(on: core.crew)
    // After the results have been created.
    paths = options.save.map { [options] _ in
      FilePaths(in: options.folder, FileNames(taken: options.takenNames), keepsExisting: true)
    }
  }

  static func openLists(
    _ options: CallOptions, _ input: Int32
  ) throws(FetchProblem) -> (StopSignal, [InputReader<RawRow>]) {
    try Run.openLists("rows", options.lists, input) { path -> any InputCutter<RawRow> in
      let isCSV = options.isCSV || [".csv", ".csv.gz"].contains { path.lowercased().hasSuffix($0) }
      return isCSV ? CSVCutter() : NDJSONCutter()
    }
  }

  func close() async {
    let late = late.withLock { $0 }
    if late > 0 {
      report.fault(.time, "the deadline passed before \(late) \(late == 1 ? "row was" : "rows were") sent")
    }
    if let paths { try? await folders.perform { () throws(SystemError) in paths.removeEmptyFolders() } }
    // An error of the journal was reported when it occurred.
    try? await journal.finish()
  }

  /// The results or the journal can't be written. Reported once; nothing more is sent.
  func broke(_ error: SystemError) {
    let place =
      journal.results.failure == nil ? "the session \(options.session ?? "")" : options.results ?? "standard output"
    broke("\(place): \(error)")
  }

  /// The disk accepts no more files.
  func broke(_ text: String) {
    guard !hasBroken.exchange(true) else { return }
    report.fault(.file, "\(text); nothing more is sent")
    core.end(atOnce: false)
  }

  var progressState: ProgressState { core.progressState }

  var emptyRemark: String { "the list has no rows" }

  /// Rows wait nowhere else.
  var waits: String { "" }
}
