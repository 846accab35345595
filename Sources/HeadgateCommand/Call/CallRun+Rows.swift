import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// The rows, read only as fast as they are worked off.

extension CallRun {
  /// Hands over all rows. Returns how many there were.
  func readAll() async -> Int {
    var rows = RowCount()
    var isWhole = true
    for list in lists where isWhole { isWhole = await read(list, &rows) }
    if !isWhole, isOutOfTime {
      report.fault(.time, "the deadline passed before the rows were read to their end; what follows was not sent")
    }
    if !isWhole {
      // For as long as those who wait for the end hardly notice: millions of rows take seconds to be counted.
      let limit = Deadline.after(.seconds(1))
      for list in lists {
        report.skipped(await list.countRest { [weak self] in self?.isEndingAtOnce == false && Deadline.now < limit })
      }
    }
    return rows.all
  }

  /// How many rows there were, and how many of each content.
  private struct RowCount {
    var all = 0
    private var equal: [RowContent: Int] = [:]

    /// How many equal rows came before.
    mutating func add(_ content: RowContent) -> Int {
      all += 1
      defer { equal[content, default: 0] += 1 }
      return equal[content] ?? 0
    }
  }

  /// False: the run is to stop.
  private func read(_ list: InputReader<RawRow>, _ rows: inout RowCount) async -> Bool {
    await list.readAll(for: "call", fault: report.fault) { new in
      for (place, row) in new.enumerated() {
        guard !isStopping else {
          report.skipped(new.count - place)
          return false
        }
        let key = RowKey(run: journal.run, content: row.content, occurrence: rows.add(row.content))
        await take(row, key, of: list.name)
      }
      await report.settle()
      return true
    }
  }

  /// Does what there is to be done about a row. Returns when there is room for the next one.
  private func take(_ raw: RawRow, _ key: RowKey, of list: String) async {
    let row = CallRow(key: key, list: list, line: raw.line, value: try? raw.value.get())
    let request: Result<DispatchRequest, RowProblem>
    do throws(RowProblem) {
      request = .success(try options.request(try raw.value.get(), key))
    } catch {
      request = .failure(error)
    }
    let mayRepeat = (try? request.get())?.isIdempotent ?? true
    let plan = journal.plan(key, mayRepeat: mayRepeat, options.leave)
    switch (plan, request) {
    case (.there, _): report.found(row, .ok, error: nil)
    case (.before(let outcome, let error), _): report.found(row, outcome, error: error)
    case (.unknown, _):
      await begin(row, raw.size) { [self] in await name(row, try? request.get()) }
    case (.send, .failure(let problem)):
      await begin(row, raw.size) { [self] in
        await end(row, CallResult(row, .notSent, error: problem.code, message: problem.message))
      }
    case (.send(let results), .success(let request)):
      spared?.spare(request.endPoint)
      await begin(row, raw.size) { [self] in
        if mayRepeat {
          await send(row, request, mayRepeat: true)
        } else {
          await turns.run(at: request.endPoint) { await sendOnce(row, request, results: results) }
        }
      }
    }
  }

  private func begin(_ row: CallRow, _ size: Int, _ work: @escaping @Sendable () async -> Void) async {
    let places = CallRun.places(size)
    // One after another: only the reading of rows takes places here. Throws for a cancelled task only, and this one
    // never is.
    for _ in 0..<places { try? await room.wait() }
    pending.enter()
    Task {
      await work()
      room.signal(places)
      pending.leave()
    }
  }

  /// A row of which an earlier run does not know what became of it.
  private func name(_ row: CallRow, _ request: DispatchRequest?) async {
    var result = CallResult(
      row, .unknown, error: "outcome_unknown",
      message:
        "it was under way when an earlier run ended, and whether it was done is not known; it is not sent again, "
        + "unless --retry-unsafe is given with --retry-failed")
    (result.method, result.url) = (request?.method.rawValue, request?.url)
    await end(row, result)
  }
}
