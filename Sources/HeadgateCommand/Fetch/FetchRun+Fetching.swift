import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateFlow
import HeadgateThreads

// Fetches one URL to its file or to the output.

extension FetchRun {
  /// The rest of a refused response is read only up to this number of bytes, so that its connection can be reused.
  static let mostDrained = 64 * 1024

  /// Queues a URL at the dispatcher. If its body goes to a file, the file's name has been assigned. Returns once the
  /// URL is queued.
  func submit(_ job: FetchJob) async {
    var job = timeline == nil ? job : job.tagged
    // The deadline is relative to now, and the URL may have waited on disk.
    job.request.deadline = timeLeft
    spared?.spare(job.request.endPoint)
    if let session { return await keep(job, session) }
    if options.list.isCheck { return await startCheck(job) }
    if transport.knowsName(for: job.request) { return await store(job) }
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
    guard !transport.knowsName(for: job.request) else { return job }
    nameWaits.enter(job.request.endPoint)
    defer { nameWaits.leave(job.request.endPoint) }
    var job = job
    var attempts = options.retries + 1
    while await !transport.lookUpName(for: job.request) {
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
    spared?.spare(job.request.endPoint)
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
    case .success(let response): outcome = renamed(job, response)
    case .failure(let error) where DiskFault.isLasting(error):
      diskFailed(job, error)
      return ended(job)
    case .failure(let error): outcome = .ended(error)
    }
    if let next = next(after: job, outcome) {
      Task { await store(await named(next)) }
    } else {
      report.ended(job, outcome)
      ended(job)
    }
  }

  private func renamed(_ job: FetchJob, _ response: FileResponse) -> FetchOutcome {
    guard options.takesNames, let path = response.path else { return .stored(response) }
    let named = renamed(job, response.head, path)
    return .kept(response.head, url: response.url, path: named, bytes: response.bytes, times: response.times)
  }

  private func fileFailed(_ job: FetchJob, _ error: DispatchError) {
    if DiskFault.isLasting(error) { diskFailed(job, error) } else { report.ended(job, .failed(error)) }
  }

  /// Streams a body to the output when it is its turn, and stores it until then. The turn is passed on in every case.
  private func write(_ job: FetchJob) async {
    let body = HeldBody(on: output.crew, output.held)
    var job = job
    var outcome: FetchOutcome
    var sent = 0
    do {
      outcome = try await receiveFromAny(&job, into: body, &sent)
      await output.turns.wait(for: job.index)
      if output.isBroken { outcome = .failed(DispatchError(.shutDown)) }
      if case .written = outcome {
        try await body.empty { piece throws(OutputError) in try await output.write(piece) }
      }
    } catch let error as OutputError {
      // At once, and not only when its turn comes: other bodies may need the space.
      body.discard()
      // A broken output is reported for one URL. The rest count as skipped. A failure of the temporary file belongs to
      // its body alone.
      let isOwn = !output.isBroken || output.takeBreak()
      outcome = isOwn ? .outputFailed(error) : .failed(DispatchError(.shutDown))
    } catch {
      body.discard()
      let error = error as? DispatchError ?? DispatchError(.transportFailed, underlyingError: error)
      outcome = .failed(error, sent: sent)
    }
    report.ended(job, outcome)
    if output.isBroken { outputBroke() }
    await output.turns.wait(for: job.index)
    output.turns.pass()
  }

  /// Tries one mirror after another, until a part of the body has been written.
  private func receiveFromAny(_ job: inout FetchJob, into held: HeldBody, _ sent: inout Int) async throws
    -> FetchOutcome
  {
    while true {
      var outcome: FetchOutcome
      do {
        outcome = try await receiveWhole(job, into: held, &sent)
      } catch let mismatch as ChecksumError {
        outcome = .mismatched(mismatch)
      } catch let error as DispatchError {
        outcome = .failed(error, sent: sent)
      }
      if case .written = outcome { return outcome }
      if sent == 0 { held.discard() }
      guard sent == 0, let next = next(after: job, outcome) else { return outcome }
      job = await named(next)
    }
  }

  /// Retries as often as the options allow, until a part of the body has been written. The library can't do it, since
  /// it has already handed out the response's head.
  private func receiveWhole(_ job: FetchJob, into held: HeldBody, _ sent: inout Int) async throws -> FetchOutcome {
    var left = options.retries + 1
    var request = job.request
    var cut: DispatchError?
    while true {
      do {
        return try await receive(job, request, into: held, &sent)
      } catch let error as DispatchError
        where sent == 0 && error.isCutShort && error.attempts < left && !isStopping && options.sent.mayRepeat(request)
      {
        cut = error
        held.discard()
        left -= max(1, error.attempts)
        request.retry = options.retryPolicy(attempts: left)
        await rest(after: options.retries + 1 - left)
        guard !isStopping else { throw error }
        request.deadline = timeLeft
      } catch let error as DispatchError where error.code == .shutDown {
        // The run may stop at any moment after the check above. A URL whose body was cut short has failed even then.
        throw cut ?? error
      }
    }
  }

  /// Waits before a URL is retried, unless the run stops.
  func rest(after attempts: Int) async {
    var random = SystemRandom()
    await retryWaits.wait(for: FetchOptions.backoff.delay(after: max(1, attempts), using: &random))
  }

  private func receive(_ job: FetchJob, _ request: DispatchRequest, into held: HeldBody, _ sent: inout Int)
    async throws -> FetchOutcome
  {
    let response = try await dispatcher.stream(for: request)
    var iterator = response.body.makeAsyncIterator()
    var bytes = 0
    let isUnaskedPart = response.head.isPart && request.headerFields[.range] == nil
    guard (200...299).contains(response.statusCode), !isUnaskedPart else {
      while bytes <= Self.mostDrained, let piece = try await iterator.next() {
        bytes += piece.count
        received?.add(piece.count)
      }
      return .refused(response.head, url: response.url, bytes: bytes, times: response.body.times)
    }
    var hash = job.checksum.map { _ in SHA256() }
    while let piece = try await iterator.next() {
      bytes += piece.count
      received?.add(piece.count)
      hash?.update(piece)
      // A body that breaks off before its turn, or has the wrong checksum, leaves no trace in the output.
      guard job.checksum == nil, output.turns.has(job.index) else {
        try await held.append(piece)
        continue
      }
      try await held.empty { piece throws(OutputError) in try await output.write(piece) }
      try await output.write(piece)
      sent = bytes
    }
    if let hash { try job.checksum?.check(Checksum(hash)) }
    return .written(response, bytes: bytes)
  }
}

extension DispatchError {
  /// Whether the body was cut short, so that another attempt may succeed.
  var isCutShort: Bool { (code == .connectionLost || code == .idleTimedOut) && phase == .receiving }
}
