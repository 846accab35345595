import ArgumentParser
import HeadgateReport
import HeadgateThreads

/// `headgate report`: a page or an archive from the log of an earlier run.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show a run in a browser, from its log.",
    discussion: """
      LOG is what headgate fetch --log has written; - is the standard input. The page is one file that needs nothing from \
      the network. The log of a run that still goes on, or was killed, can be read too.

      EXAMPLES
        headgate report log.ndjson -o run.html
        headgate report log.ndjson --har run.har
        zcat log.ndjson.gz | headgate report - -o run.html
      """
  )

  @Argument(help: ArgumentHelp("The log.", valueName: "log|-"))
  var log: String

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "Where the page goes; - is the standard output. Without it, and without --har, it is named after the log.",
      valueName: "file.html|-"
    )
  )
  var page: String?

  @Option(
    help: ArgumentHelp(
      "Write an HTTP Archive (HAR 1.2) for the network tab of a browser. Its \"blocked\" is the time in the queue. It has at "
        + "most \(HARFile.mostEntries) entries.",
      valueName: "file.har|-"
    )
  )
  var har: String?

  func validate() throws {
    guard !(page == "-" && har == "-") else {
      throw ValidationError("The standard output can take one of the two: give a file for the page or the archive.")
    }
  }

  /// Where the page goes; nil: none is wanted.
  var pagePath: String? {
    if let page { return page }
    guard har == nil else { return nil }
    if log == "-" { return "report.html" }
    let name = log.hasSuffix(".ndjson") ? String(log.dropLast(".ndjson".utf8.count)) : log
    return name + ".html"
  }

  func run() async throws {
    let lane = SerialLane(on: LaneCrew(name: "headgate-report", size: 1))
    let result = await withContinuation { (continuation: CheckedContinuation<Result<[String], FetchProblem>, Never>) in
      lane.run { continuation.resume(returning: Result { () throws(FetchProblem) in try make() }) }
    }
    for line in try result.get() {
      try? Descriptor.write(Array((HeadgateCommandLine.harmless("headgate: \(line)") + "\n").utf8), to: 2)
    }
  }

  /// Blocks. Returns what is to be told.
  private func make() throws(FetchProblem) -> [String] {
    for path in [pagePath, har].compactMap({ $0 }) where path != "-" && log != "-" {
      guard !Descriptor.isSameFile(path, log) else {
        throw FetchProblem("\(path) is the log itself, which would be lost; choose another name", status: .usage)
      }
    }
    let log = try read()
    var told: [String] = []
    if let pagePath {
      try write(RunPage.bytes(RunSummary(log)), to: pagePath, "the report")
      if pagePath != "-" { told.append(ReportText.page(pagePath, log)) }
    }
    if let har {
      try write(HARFile.bytes(log, creatorVersion: HeadgateVersion.current), to: har, "the archive")
      if har != "-" || HARFile.restriction(of: log) != nil { told.append(ReportText.archive(har, log)) }
    }
    return told
  }

  private func read() throws(FetchProblem) -> RunLog {
    var run = RunLog()
    do throws(SystemError) {
      let input = log == "-" ? 0 : try Descriptor.openForReading(log)
      defer { if input != 0 { Descriptor.close(input) } }
      while true {
        _ = Descriptor.wait(for: input, 1, orFor: nil)
        let piece = try Descriptor.read(input, atMost: 1 << 20)
        if piece.isEmpty { break }
        run.add(piece)
      }
    } catch {
      throw FetchProblem("the log \(log) can't be read: \(error)")
    }
    run.finish()
    guard !run.records.isEmpty else {
      throw FetchProblem(
        "\(log == "-" ? "the standard input" : log) has no records of URLs; a log is what headgate fetch --log FILE writes",
        status: .usage)
    }
    return run
  }

  private func write(_ bytes: [UInt8], to path: String, _ what: String) throws(FetchProblem) {
    do throws(CreationError) {
      let output = path == "-" ? 1 : try Descriptor.create(path)
      defer { if output != 1 { Descriptor.close(output) } }
      do throws(SystemError) { try Descriptor.write(bytes, to: output) } catch { throw .system(error) }
    } catch {
      throw FetchProblem("\(what)\(path == "-" ? " on the standard output" : " \(path)") can't be written: \(error)")
    }
  }
}
