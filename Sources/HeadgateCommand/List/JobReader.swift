import HeadgateDispatch

/// Makes jobs of the lines of lists. Lines that are not URLs, and URLs that are not this run's, are reported and counted
/// instead.
struct JobReader: Sendable {
  private let options: FetchOptions
  private let report: Report
  private let outcomes: FetchReport
  private var selection: ListSelection
  private var remarks = ListRemarks()
  /// URLs and bad lines so far.
  private(set) var lines = 0
  /// URLs alone. Their numbers give the turns at the output.
  private var urls = 0

  init(_ options: FetchOptions, _ report: Report, _ outcomes: FetchReport) {
    (self.options, self.report, self.outcomes) = (options, report, outcomes)
    selection = ListSelection(shard: options.list.shard, dedupes: options.list.dedupes)
  }

  /// The jobs of a line: more than one only if `--check` requests every mirror.
  mutating func jobs(_ line: NumberedLine, of list: String) -> [FetchJob] {
    let place = "\(list):\(line.number)"
    var entries: [ListEntry] = []
    switch line.line {
    case .nothing: break
    case .bad(let text, let reason):
      lines += 1
      outcomes.badLine("\"\(text)\": \(reason)", text, at: place)
    case .url(let url): entries = [ListEntry(urls: [url])]
    case .entry(let entry): entries = options.list.isCheck ? entry.urls.map { ListEntry(urls: [$0]) } : [entry]
    }
    lines += entries.count
    return entries.compactMap { job($0, line.number, at: place) }
  }

  private mutating func job(_ entry: ListEntry, _ line: Int, at place: String) -> FetchJob? {
    do throws(DispatchError) {
      var (job, leftOut) = try options.job(entry, index: urls)
      job.line = line
      for remark in remarks.about(entry, leftOut, at: place) { report.remark(remark) }
      switch try selection.judge(job.url) {
      case .repeated: report.count { $0[.excluded] += 1 }
      case .elsewhere: report.count { $0[.elsewhere] += 1 }
      case .taken:
        urls += 1
        return job
      }
    } catch {
      let url = entry.urls.first ?? ""
      outcomes.badLine(BadURL.message(url, error.detail), url, at: place)
    }
    return nil
  }
}
