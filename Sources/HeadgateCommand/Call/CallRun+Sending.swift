import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// Takes one row from its request to its result.

extension CallRun {
  /// Sends a row that must not be sent twice. Before that, the record that it is about to be sent is written to disk.
  /// Its outcome may be unknown even with `--retry-unsafe`: the next run may be without it.
  ///
  /// - Returns: The URL of the page after the row's first one.
  func sendOnce(_ row: CallRow, _ request: DispatchRequest, results: Int) async -> String? {
    guard !isStopping else {
      if isOutOfTime { late.withLock { $0 += 1 } }
      report.skipped()
      return nil
    }
    do throws(SystemError) {
      try await journal.sending(row.key, results: results)
    } catch {
      report.skipped()
      broke(error)
      return nil
    }
    return await send(row, request, mayRepeat: false)
  }

  /// Sends a row, or a page of it, and writes its result.
  ///
  /// - Returns: The URL of the next page, once the result is written. Nil if the row has ended.
  func send(_ row: CallRow, _ request: DispatchRequest, mayRepeat: Bool) async -> String? {
    guard !isStopping else {
      giveUp(row, request, wasSent: false)
      return nil
    }
    var request = request
    // The deadline counts from the submission, and the row may have waited for its turn.
    request.deadline = timeLeft
    do throws(DispatchError) {
      let answer = try await answer(to: request, of: row)
      // It would have been sent again, and the end of the run prevents that.
      if isStopping, answer.status == 429, options.requests.retries > 0 {
        giveUp(row, request, wasSent: answer.times.earlier == .lost)
        return nil
      }
      let result = result(row, request, answer)
      let isWritten = await end(row, result, bytes: answer.bytes, mustNotRepeat: !mayRepeat)
      return isWritten && hasNext(result) ? result.next : nil
    } catch {
      report.waits.withLock { $0.add(error, at: request.endPoint) }
      if DiskFault.isLasting(error) { broke(error.detail) }
      guard let outcome = CallOutcome(error, mayRepeat: mayRepeat) else {
        giveUp(row, request, wasSent: error.mayHaveReachedServer, because: error)
        return nil
      }
      var result = CallResult(row, outcome, error: error.code.description)
      result.message = ErrorText.of(error, askedFor: request.endPoint) + Self.doubt(outcome)
      (result.method, result.url) = (request.method.rawValue, request.url)
      (result.attempts, result.queued, result.waited) = (error.attempts, error.waited.inSeconds, error.waitTimes)
      result.total = (error.waited + error.ran).inSeconds
      await end(row, result, mustNotRepeat: outcome == .unknown)
      return nil
    }
  }

  private static func doubt(_ outcome: CallOutcome) -> String {
    outcome == .unknown ? "; its outcome is unknown, and it must not be sent twice: see --idempotency-key" : ""
  }

  /// Gives up a row, which another run may send.
  private func giveUp(
    _ row: CallRow, _ request: DispatchRequest, wasSent: Bool, because error: DispatchError? = nil
  ) {
    if !request.isIdempotent, !wasSent { journal.unsent(row.key) }
    if let error, error.code == .refusing { return outcomes.refusing(row, error, at: request.endPoint) }
    if error?.isOutOfTime ?? false || isOutOfTime { late.withLock { $0 += 1 } }
    report.skipped()
  }

  /// Sends a request, and collects the response's body in memory or in the row's file.
  private func answer(to request: DispatchRequest, of row: CallRow) async throws(DispatchError) -> CallAnswer {
    guard let paths, let name = row.file else {
      let response = try await dispatcher.data(for: request)
      let answer = CallAnswer(response)
      options.settle(response, answer.body.json)
      return answer
    }
    // The file and its folders are on disk before its result.
    let syncs = options.session != nil
    try await paths.makeFolder(of: name, on: folders, syncs: syncs)
    var destination = FileDestination.numbered(FileName.path(name, in: paths.root))
    (destination.keepsRefusal, destination.syncs) = (true, syncs)
    return CallAnswer(try await dispatcher.download(for: request, to: destination))
  }

  private func result(_ row: CallRow, _ request: DispatchRequest, _ answer: CallAnswer) -> CallResult {
    let isSuccess = (200...299).contains(answer.status)
    // No file gets only a part of a body.
    let isPart = isSuccess && row.file != nil && answer.file == nil
    let isOK = isSuccess && !isPart
    var result = CallResult(row, isOK ? .ok : .failed)
    if !isOK {
      result.error = "http_error"
      result.message = "status \(answer.status)\(isPart ? ", with only a part of the body" : "")"
    }
    (result.method, result.url, result.status) = (request.method.rawValue, answer.url, answer.status)
    result.headers = options.responseFields.map { ($0, answer.fields[$0]) }
    (result.body, result.file) = (answer.body, answer.file)
    if isOK { result.next = options.next?.url(after: request, answer.fields, answer.body) }
    result.attempts = answer.times.attempts
    result.queued = answer.times.queued.inSeconds
    result.waited = answer.times.waited
    report.waits.withLock {
      $0.add(answer.times, at: request.endPoint, answeredBy: request.endPoint(answering: answer.url))
    }
    result.exchange = answer.times.exchange
    result.total = answer.times.total.inSeconds
    // A server may answer a request that it has processed with a redirect, which is never followed here.
    let isProcessed = isSuccess || FollowedRedirect.isAnswer(answer.status) || answer.times.earlier == .lost
    if !isOK, !request.isIdempotent, isProcessed {
      result.keepDoubt(because: "the server may have processed it, so its outcome is unknown")
    }
    return result
  }

  /// Writes a row's result, and then counts it: every counted result is written.
  ///
  /// - Parameter mustNotRepeat: Whether the row was sent and must not be sent again. If its result can't be written, its
  ///   outcome is unknown.
  /// - Returns: Whether it is written.
  @discardableResult
  func end(_ row: CallRow, _ result: CallResult, bytes: Int = 0, mustNotRepeat: Bool = false) async -> Bool {
    var result = result
    if row.isInDoubt { result.keepDoubt(because: "an earlier run may have sent it, so its outcome stays unknown") }
    result.time = WallClock.now()
    do throws(SystemError) {
      try await journal.add(result.json)
      outcomes.ended(row, result, bytes: bytes, hasNext: hasNext(result))
      return true
    } catch {
      broke(error)
      if mustNotRepeat { outcomes.lost(row, result, bytes: bytes) } else { report.skipped() }
      return false
    }
  }

  /// Writes the result of a row that can't be sent.
  func end(_ row: CallRow, _ problem: RowProblem) async {
    await end(row, CallResult(row, .notSent, error: problem.code, message: problem.message))
  }
}
