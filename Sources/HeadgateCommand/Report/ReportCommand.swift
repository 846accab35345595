import ArgumentParser
import HeadgateDispatch
import HeadgateReport
import HeadgateThreads

/// `headgate report`: makes an HTML page or an HTTP Archive from the log of an earlier run.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Make an HTML report from the log of a run.",
    discussion: """
      LOG is a file written by headgate fetch --log; - is standard input. The page is a single file that loads nothing \
      from the network. The log may also be that of a run that is still in progress or was killed.

      EXAMPLES
        headgate report log.ndjson -o run.html
        headgate report log.ndjson --har run.har
        zcat log.ndjson.gz | headgate report - -o run.html
      """
  )

  @Argument(help: ArgumentHelp("The log.", valueName: "log|-"), completion: .file())
  var log: String

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "Write the page to this file; - is standard output. (default, without --har: named after the log)",
      valueName: "file.html|-"
    ), completion: .file()
  )
  var page: String?

  @Option(
    help: ArgumentHelp(
      "Write an HTTP Archive (HAR 1.2), for the network tab of a browser. Its \"blocked\" is the time in the queue, "
        + "and of all attempts but the last. It has at most \(HARFile.mostEntries) entries.",
      valueName: "file.har|-"
    ), completion: .file()
  )
  var har: String?

  func validate() throws {
    guard !(page == "-" && har == "-") else {
      throw ValidationError("The page and the archive can't both go to standard output; give a file for one of them.")
    }
  }

  /// The path of the page. Nil if no page is requested.
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

  /// Blocks. Returns the messages for the user.
  private func make() throws(FetchProblem) -> [String] {
    for path in [pagePath, har].compactMap({ $0 }) where path != "-" && log != "-" {
      guard !Descriptor.isSameFile(path, log) else {
        throw FetchProblem("\(path) is the log itself and would be overwritten; choose another name", status: .usage)
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
        "\(log == "-" ? "standard input" : log) has no records of URLs; give a log of headgate fetch --log FILE",
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
      throw FetchProblem("\(what)\(path == "-" ? " on standard output" : " \(path)") can't be written: \(error)")
    }
  }
}
