import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateThreads

// Fetches one URL to its file or to the output.

extension FetchRun {
  /// Queues a URL at the dispatcher. If its body goes to a file, the file's name has been assigned. Returns once the
  /// URL is queued.
  func submit(_ job: FetchJob) async {
    var job = timeline == nil ? job : job.tagged
    // The deadline is relative to now, and the URL may have waited on disk.
    job.request.deadline = timeLeft
    if let session { return await keep(job, session) }
    if options.list.isCheck { return await startCheck(job) }
    if core.transport.knowsName(for: job.request) { return await store(job) }
    await whenNamed(job) { [self] job in await store(job) }
  }

  /// Runs a function in a task of its own once the host name of a URL has been looked up. Returns once there is room
  /// for the look-up.
  func whenNamed(_ job: FetchJob, _ body: @escaping @Sendable (FetchJob) async -> Void) async {
    // Throws only for a cancelled task. This one is never cancelled.
    try? await nameRoom.wait()
    Task {
      await body(await named(job))
      nameRoom.signal()
    }
  }

  /// Looks up the host name of a URL before the URL takes a place in the queue and a permit, so that thousands of
  /// pending look-ups don't hold up URLs with known names. A URL whose name has no addresses fails after it has
  /// received a permit, just as it does without this step.
  func named(_ job: FetchJob) async -> FetchJob {
    guard !core.transport.knowsName(for: job.request) else { return job }
    nameWaits.enter(job.request.endPoint)
    defer { nameWaits.leave(job.request.endPoint) }
    var job = job
    var attempts = options.retries + 1
    while await !core.transport.lookUpName(for: job.request) {
      attempts -= 1
      guard attempts > 0, !isStopping else {
        // The look-up has used up the attempts. The request still takes a permit and then fails at once, so that the
        // host's breaker counts the failure.
        job.request.connectTimeout = .milliseconds(1)
        job.request.retry = nil
        break
      }
    }
    job.request.deadline = timeLeft
    return job
  }

  /// Queues a URL whose body goes to standard output. Returns when its turn is near.
  func print(_ job: FetchJob) async {
    var job = withChecksum(timeline == nil ? job : job.tagged)
    await output.turns.enter(job.index)
    job.request.deadline = timeLeft
    pending.enter()
    Task { [job] in
      await write(await named(job))
      pending.leave()
    }
  }

  private func store(_ job: FetchJob) async {
    let name = job.name ?? FileName.of(job.request.url)
    do throws(DispatchError) { try await makeFolder(for: name) } catch {
      fileFailed(job, error)
      return ended(job)
    }
    let path = FileName.path(name, in: options.folder)
    // A file that will be renamed must not replace another one before that.
    var destination = options.overwrites && !options.takesNames ? FileDestination.replacing(path) : .numbered(path)
    destination.keepsServerTime = options.takesTimes
    destination.checksum = job.checksum
    await dispatcher.dispatch(enqueuing: job.request, to: destination, onProgress: received?.listener()) {
      [self] result in stored(job, result)
    }
  }

  private func stored(_ job: FetchJob, _ result: Result<FileResponse, DispatchError>) {
    let outcome: FetchOutcome
    switch result {
    case .success(let response): outcome = self.outcome(job, response)
    case .failure(let error) where DiskFault.isLasting(error):
      diskFailed(job, error)
      return ended(job)
    case .failure(let error): outcome = .ended(error)
    }
    if let next = next(after: job, outcome) {
      Task { await store(await named(next)) }
    } else {
      outcomes.ended(job, outcome)
      ended(job)
    }
  }

  private func outcome(_ job: FetchJob, _ response: FileResponse) -> FetchOutcome {
    let answer = FetchAnswer(response)
    guard let path = response.path else { return .refused(answer) }
    return .received(answer, path: options.takesNames ? renamed(job, response.head, path) : path)
  }

  private func fileFailed(_ job: FetchJob, _ error: DispatchError) {
    if DiskFault.isLasting(error) { diskFailed(job, error) } else { outcomes.ended(job, .failed(error)) }
  }

  /// Writes a body to the output when it is its turn, and holds it until then. Tries one mirror after another, until a
  /// part of the body has been written. The turn is passed on in every case.
  private func write(_ first: FetchJob) async {
    var job = first
    while true {
      let body = OutputBody(job.index, isHeld: job.checksum != nil, to: output)
      var outcome = await receive(job, into: body)
      // What ends while its bytes wait for the output may have another reason.
      if let failure = output.takeFailure() { outcome = .outputFailed(failure) }
      if body.written == 0, let next = next(after: job, outcome) {
        job = await named(next)
      } else {
        // In the order of the list, unless other bodies may need the space of this one.
        if case .outputFailed = outcome {} else { await output.turns.wait(for: job.index) }
        outcomes.ended(job, outcome)
        break
      }
    }
    if output.isBroken { core.end(atOnce: true) }
    await output.turns.wait(for: job.index)
    output.turns.pass()
  }

  private func receive(_ job: FetchJob, into body: OutputBody) async -> FetchOutcome {
    var request = job.request
    request.deadline = timeLeft
    let order = FileOrder(body, continuing: nil, checksum: job.checksum, keepsServerTime: false)
    do {
      let response = try await dispatcher.download(request, order, onProgress: received?.listener())
      guard response.path != nil else {
        return body.written == 0 ? .refused(FetchAnswer(response)) : .failed(.brokenOff(response), sent: body.written)
      }
      await output.turns.wait(for: job.index)
      guard !output.isBroken else { return .failed(DispatchError(.shutDown)) }
      try await output.empty(body)
      return .received(FetchAnswer(response))
    } catch let error as DispatchError {
      if let failure = error.underlyingError as? OutputError { return .ended(failure) }
      let outcome = FetchOutcome.ended(error)
      if case .failed(let error, _) = outcome { return .failed(error, sent: body.written) }
      return outcome
    } catch let error as OutputError {
      return .ended(error)
    } catch {
      return .failed(DispatchError(.transportFailed, underlyingError: error))
    }
  }
}

extension FetchOutcome {
  /// The outcome of a body that could not be stored. A broken output is reported for one URL, and the rest count as
  /// skipped.
  fileprivate static func ended(_ error: OutputError) -> FetchOutcome {
    error.isShared ? .failed(DispatchError(.shutDown)) : .outputFailed(error)
  }
}

extension DispatchError {
  /// The error of a body whose rest was refused.
  fileprivate static func brokenOff(_ response: FileResponse) -> DispatchError {
    DispatchError(
      .connectionLost, phase: .receiving, endPoint: try? EndPoint(response.url),
      detail: "the answer to the request for the rest of the body has the status \(response.statusCode)",
      waitReason: nil, attempts: response.times.attempts, earlier: .lost)
  }
}
