import HeadgateDispatch
import HeadgateThreads

// Lists are read only as far as it takes to keep all hosts busy. Each URL of a piece is queued or stored on disk before
// the next piece is read.

extension FetchRun {
  /// How many arguments are submitted together, as the lines of a piece are.
  private static let mostArguments = 1000

  /// Submits all URLs. Returns their number, bad lines included.
  func readAll() async -> Int {
    countLists()
    var reader = JobReader(options, report, outcomes)
    var isWhole = true
    // With `--retry-failed` there may be as many as a list has lines.
    for start in stride(from: 0, to: arguments.count, by: Self.mostArguments) where isWhole {
      let lines = arguments[start...].prefix(Self.mostArguments).enumerated().map { place, line in
        NumberedLine(number: start + place + 1, line: line)
      }
      isWhole = await take(lines, of: "argument", &reader)
      if !isWhole { report.skipped(arguments.count - start - lines.count) }
    }
    for list in lists where isWhole { isWhole = await read(list, &reader) }
    if !isWhole, isOutOfTime { tellOutOfTime() }
    if !isWhole { await core.skipRest(of: lists) }
    return reader.lines
  }

  /// Returns false when the run stops.
  private func read(_ list: InputReader<NumberedLine>, _ reader: inout JobReader) async -> Bool {
    await list.readAll(for: "fetch", fault: report.fault) { lines in
      guard await take(lines, of: list.name, &reader) else { return false }
      await outcomes.settle()
      return true
    }
  }

  /// Returns false when the run stops.
  private func take(_ lines: [NumberedLine], of list: String, _ reader: inout JobReader) async -> Bool {
    var placed = PlacedLines()
    let isWhole = await core.takeAll(lines) { line in
      for var job in reader.jobs(line, of: list) {
        job.request.deadline = timeLeft
        core.meet(job.request)
        if options.target == .output { await print(job) } else { await place(job, &placed) }
      }
    }
    await submit(placed)
    return isWhole
  }

  /// Makes a request for a URL, with the rest of the run's time as its deadline.
  func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    var request = try options.request(url)
    request.deadline = timeLeft
    return request
  }
}
