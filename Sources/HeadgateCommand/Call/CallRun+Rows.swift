import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// Rows are read only as fast as they are processed.

extension CallRun {
  /// Processes all rows. Returns their number.
  func readAll() async -> Int {
    var rows = RowCount()
    var isWhole = true
    for list in lists where isWhole { isWhole = await read(list, &rows) }
    if !isWhole, isOutOfTime {
      report.fault(.time, "the deadline passed before all rows were read; the rest was not sent")
    }
    if !isWhole { await core.skipRest(of: lists) }
    return rows.all
  }

  /// Returns false if the run must stop.
  private func read(_ list: InputReader<RawRow>, _ rows: inout RowCount) async -> Bool {
    await list.readAll(for: "call", fault: report.fault) { new in
      let isWhole = await core.takeAll(new) { row in
        let key = RowKey(run: journal.run, content: row.content, occurrence: rows.add(row.content))
        await take(row, key, of: list.name)
      }
      await report.settle()
      return isWhole
    }
  }

  /// Processes a row. Returns when there is room for the next one.
  private func take(_ raw: RawRow, _ key: RowKey, of list: String) async {
    let request: Result<DispatchRequest, RowProblem>
    do throws(RowProblem) {
      request = .success(try options.request(try raw.value.get(), key))
    } catch {
      request = .failure(error)
    }
    let plan = journal.plan(key, options.leave)
    var row = CallRow(
      key: key, list: list, line: raw.line, value: try? raw.value.get(), isInDoubt: plan.isInDoubt)
    if options.next != nil { row = row.at(page: plan.page) }
    switch (plan, request) {
    case (.complete, _): outcomes.found(.ok, error: nil)
    case (.before(let outcome, let error), _): outcomes.found(outcome, error: error)
    case (.unknown, _):
      await begin(row, raw.size) { [self, row] in await name(row, try? request.get()) }
    case (.send, .failure(let problem)), (.goOn, .failure(let problem)):
      await begin(row, raw.size) { [self, row] in await end(row, problem) }
    case (.goOn(let trail), .success(let request)):
      core.meet(request)
      await begin(row, raw.size) { [self, row] in await follow(trail, of: row, request) }
    case (.send(let results, _), .success(let request)):
      let row = row.saved(to: await file(for: row))
      core.meet(request)
      await begin(row, raw.size) { [self] in
        let next =
          if request.isIdempotent {
            await send(row, request, mayRepeat: true)
          } else {
            await turns.run(request) { await sendOnce(row, request, results: results) }
          }
        if let next { await follow(PageTrail(1, next: next), of: row, request) }
      }
    }
  }

  /// Assigns the path of a row's file below the folder. Called in the order of the rows.
  private func file(for row: CallRow) async -> String? {
    guard let paths, let save = options.save, let value = row.value, let wished = try? save.path(value) else {
      return nil
    }
    let claimed = await paths.claim(wished, on: folders)
    // Reported once.
    if paths.isWishedAgain(wished), !hasToldOfNumbers.exchange(true) {
      report.remark(
        "--save \(save.text): several rows have the path \(wished), and all but the first are numbered, such as \(claimed)"
      )
    }
    return claimed
  }

  private func begin(_ row: CallRow, _ size: Int, _ work: @escaping @Sendable () async -> Void) async {
    let places = CallRun.places(size)
    // No interleaving: only the reader of rows takes places. Throws only if the task is cancelled, which never happens
    // to this one.
    for _ in 0..<places { try? await room.wait() }
    pending.enter()
    Task {
      await work()
      room.signal(places)
      pending.leave()
    }
  }

  /// Reports a row whose outcome an earlier run left unknown.
  private func name(_ row: CallRow, _ request: DispatchRequest?) async {
    var result = CallResult(
      row, .unknown, error: "outcome_unknown",
      message:
        "it was being sent when an earlier run ended, so its outcome is unknown; it is not sent again "
        + "unless --retry-unsafe is given with --retry-failed")
    (result.method, result.url) = (request?.method.rawValue, request?.url)
    await end(row, result)
  }
}

/// The number of rows, in total and by content.
struct RowCount {
  private(set) var all = 0
  private var equal: [RowContent: Int] = [:]

  /// Returns the number of equal rows before this one.
  mutating func add(_ content: RowContent) -> Int {
    all += 1
    defer { equal[content, default: 0] += 1 }
    return equal[content] ?? 0
  }
}
