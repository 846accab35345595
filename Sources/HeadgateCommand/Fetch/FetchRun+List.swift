import HeadgateDispatch
import HeadgateThreads

// Lists are read only as far as it takes to keep all hosts busy. Each URL of a piece is queued or stored on disk before
// the next piece is read.

/// How far the lists have been read.
struct ListProgress {
  /// URLs and bad lines.
  var lines = 0
  /// URLs alone. Their numbers give the turns at the output.
  var urls = 0
  /// Which URLs are this run's.
  var selection: ListSelection
}

extension FetchRun {
  /// How many arguments are submitted together, as the lines of a piece are.
  private static let mostArguments = 1000

  /// Submits all URLs. Returns their number, bad lines included.
  func readAll() async -> Int {
    countLists()
    let rules = options.list
    var progress = ListProgress(selection: ListSelection(shard: rules.shard, dedupes: rules.dedupes))
    var isWhole = true
    // With `--retry-failed` there may be as many as a list has lines.
    for start in stride(from: 0, to: arguments.count, by: Self.mostArguments) where isWhole {
      let lines = arguments[start...].prefix(Self.mostArguments).enumerated().map { place, line in
        NumberedLine(number: start + place + 1, line: line)
      }
      isWhole = await take(lines, of: "argument", &progress)
      if !isWhole { report.skipped(arguments.count - start - lines.count) }
    }
    for list in lists where isWhole { isWhole = await read(list, &progress) }
    if !isWhole, isOutOfTime { tellOutOfTime() }
    if !isWhole { await core.skipRest(of: lists) }
    return progress.lines
  }

  /// Returns false when the run stops.
  private func read(_ list: InputReader<NumberedLine>, _ progress: inout ListProgress) async -> Bool {
    await list.readAll(for: "fetch", fault: report.fault) { lines in
      guard await take(lines, of: list.name, &progress) else { return false }
      await outcomes.settle()
      return true
    }
  }

  /// Returns false when the run stops. The remaining lines are counted as skipped.
  private func take(_ lines: [NumberedLine], of list: String, _ progress: inout ListProgress) async -> Bool {
    var placed = PlacedLines()
    var isWhole = true
    for (place, line) in lines.enumerated() {
      guard !isStopping else {
        report.skipped(lines.count - place)
        isWhole = false
        break
      }
      await take(line, of: list, &progress, &placed)
    }
    await submit(placed)
    return isWhole
  }

  private func take(
    _ line: NumberedLine, of list: String, _ progress: inout ListProgress, _ placed: inout PlacedLines
  ) async {
    switch line.line {
    case .nothing: return
    case .bad(let text, let reason): outcomes.badLine("\"\(text)\": \(reason)", text, at: "\(list):\(line.number)")
    case .url(let url): await take(ListEntry(urls: [url]), line.number, of: list, &progress, &placed)
    case .entry(let entry) where options.list.isCheck:
      for url in entry.urls { await take(ListEntry(urls: [url]), line.number, of: list, &progress, &placed) }
      progress.lines += entry.urls.count - 1
    case .entry(let entry): await take(entry, line.number, of: list, &progress, &placed)
    }
    progress.lines += 1
  }

  private func take(
    _ entry: ListEntry, _ line: Int, of list: String, _ progress: inout ListProgress, _ placed: inout PlacedLines
  ) async {
    let place = "\(list):\(line)"
    do throws(DispatchError) {
      var (job, leftOut) = try options.job(entry, index: progress.urls)
      job.line = line
      for remark in remarks.about(entry, leftOut, at: place) { report.remark(remark) }
      switch try progress.selection.judge(job.url) {
      case .repeated: report.count { $0[.excluded] += 1 }
      case .elsewhere: report.count { $0[.elsewhere] += 1 }
      case .taken:
        progress.urls += 1
        job.request.deadline = timeLeft
        core.meet(job.request.endPoint)
        if options.target == .output { await print(job) } else { await self.place(job, &placed) }
      }
    } catch {
      let url = entry.urls.first ?? ""
      outcomes.badLine(BadURL.message(url, error.detail), url, at: place)
    }
  }

  /// Makes a request for a URL, with the rest of the run's time as its deadline.
  func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    var request = try options.request(url)
    request.deadline = timeLeft
    return request
  }
}
