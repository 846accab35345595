import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// Fetches a URL of a session, from its plan to its file.

extension FetchRun {
  /// Determines from the session's journal and folder what is left to do for a URL, and assigns its file name. Nil: it
  /// has ended without a request.
  func plan(_ job: FetchJob, _ session: Session) async -> FetchJob? {
    let key = options.key(job)
    guard !session.passesOver(key) else {
      report.count { $0[.excluded] += 1 }
      return nil
    }
    let plan = await plan(key, job, session)
    var name: String?
    switch plan {
    case .complete(let file):
      outcomes.ended(job, .complete(path: session.path(file.name), bytes: file.size))
      return nil
    case .confirm(let file):
      await session.confirm(file, of: key)
      outcomes.ended(job, .complete(path: session.path(file.name), bytes: file.size))
      return nil
    case .name(let file, _): name = file.name
    case .renew(let file):
      // Not for every file: until the server has answered, an earlier failure remains one.
      if session.whole(key) == file { await session.confirm(file, of: key) }
      name = file.name
    case .goOn(let given, _): name = given
    case .begin(let given): name = given
    case .unknown:
      outcomes.ended(job, .unknown)
      return nil
    }
    var planned = job
    planned.name = name
    if name == nil {
      let given = await self.name(job)
      planned.name = given
      if let done = session.done(key), let found = Descriptor.found(session.path(done.name)), found.size > done.size {
        report.remark(
          "\(session.path(done.name)) has changed since it was fetched, and stays; the new body gets the name \(given)")
      }
    }
    planned.plan = plan
    return planned
  }

  private func plan(_ key: String, _ job: FetchJob, _ session: Session) async -> SessionState.Plan {
    await session.plan(
      key, repeatsUnsafe: options.sent.repeatsUnsafe, mayRepeat: options.sent.mayRepeat(job.request),
      resumes: options.sent.isPlainGet
    ) { [self] name in checksum(job, named: name) }
  }

  /// Fetches a URL with a plan. Returns once the session has room for it.
  func keep(_ job: FetchJob, _ session: Session) async {
    // Throws only for a cancelled task. This one is never cancelled.
    try? await session.room.wait()
    Task {
      let key = options.key(job)
      var plan = job.plan
      // The URL waited on disk, which does not store plans. The new plan is the same unless the folder has changed
      // since.
      if plan == nil { plan = await self.plan(key, job, session) }
      let name = job.name ?? FileName.of(job.request.url)
      let description = PartDescription(key: key, name: name, plan: plan ?? .begin(name: name))
      let job = await named(job)
      if job.request.isIdempotent {
        await bring(job, description, session)
      } else {
        await turns.run(job.request) { await bringOnce(job, description, session) }
      }
      session.room.signal()
      ended(job)
    }
  }

  private struct PartDescription: Sendable {
    let key: String
    let name: String
    let plan: SessionState.Plan
  }

  /// Fetches a URL whose request is not idempotent. The journal on disk notes the request before it is sent, even with
  /// `--retry-unsafe`: if the run is killed, the next one may be without it.
  private func bringOnce(_ job: FetchJob, _ description: PartDescription, _ session: Session) async {
    guard !isStopping else { return outcomes.ended(job, .failed(DispatchError(.shutDown))) }
    do throws(SystemError) {
      let listing = session.listing(description.key, job, path: description.name)
      try await session.journal.sync(listing + SessionEvent.sending(key: description.key).line)
    } catch {
      let detail = "writing \(options.session ?? ""): \(error)"
      return diskFailed(job, DispatchError(.fileFailed, phase: .writing, detail: detail))
    }
    await bring(job, description, session)
  }

  private func bring(_ first: FetchJob, _ description: PartDescription, _ session: Session) async {
    var (job, plan) = (first, description.plan)
    // Of any of the servers.
    var leavesDoubt = false
    while true {
      // Nil: the disk accepts no more files, which has already been reported.
      guard let outcome = await transfer(job, plan, description, session) else { return }
      leavesDoubt = leavesDoubt || outcome.leavesDoubt
      if let next = next(after: job, outcome) {
        (job, plan) = (await named(next), .begin(name: description.name))
        continue
      }
      note(first, outcome, leavesDoubt: leavesDoubt, of: description, session)
      return outcomes.ended(job, outcome)
    }
  }

  /// Notes a failure in the journal. If the server says that the file is current, an earlier failure is cleared.
  ///
  /// Some requests must not be sent twice and may have been processed, in this run or an earlier one. They stay noted as
  /// being sent. `--retry-unsafe` does not change that, nor does an idempotency key that the request has only now.
  private func note(
    _ job: FetchJob, _ outcome: FetchOutcome, leavesDoubt: Bool, of description: PartDescription, _ session: Session
  ) {
    let key = description.key
    if case .unchanged = outcome, session.hasFailed(key), session.whole(key) == nil { session.confirm(key) }
    guard outcome.isFailure else { return }
    let listing = session.listing(key, job, path: description.name)
    if session.isInDoubt(key) || !job.request.isIdempotent && leavesDoubt {
      session.note(inDoubt: key, listing: listing)
    } else if let error = outcome.word {
      session.note(key, failed: error, listing: listing)
    } else if !job.request.isIdempotent {
      session.note(unsent: key)
    }
  }

  /// Requests a body, or the rest of it, or a newer version, and stores that. Nil if nothing more can be stored.
  private func transfer(
    _ job: FetchJob, _ plan: SessionState.Plan, _ description: PartDescription, _ session: Session
  ) async -> FetchOutcome? {
    var request = job.request
    request.deadline = timeLeft
    var part: PartialBody?
    var current: SessionFile?
    do throws(DispatchError) {
      switch plan {
      case .name(let file, let renews):
        let path = try await session.name(file, of: description.key)
        guard renews else { return .complete(path: path, bytes: file.size) }
        current = file
      case .renew(let file): current = file
      case .goOn(_, let beginning): part = beginning
      case .complete, .confirm, .begin, .unknown: break
      }
      if let current, !current.validator.isEmpty {
        request.headerFields[.ifNoneMatch] = current.validator.tag
        if current.validator.tag == nil { request.headerFields[.ifModifiedSince] = current.validator.modified }
      }
      let notes = SessionNotes(description.key, named: description.name, isOwn: job.mirror == nil, in: session)
      let order = FileOrder(
        NotedPart(notes), continuing: part, checksum: job.checksum, keepsServerTime: options.takesTimes)
      let response = try await dispatcher.download(
        request, order, onProgress: received?.listener(from: part?.size ?? 0))
      return outcome(of: response, current)
    } catch {
      guard !DiskFault.isLasting(error), error.code != .fileFailed || session.journal.failure == nil else {
        diskFailed(job, error)
        return nil
      }
      return .ended(error)
    }
  }

  /// - Parameter current: The file that the request was to renew.
  private func outcome(of response: FileResponse, _ current: SessionFile?) -> FetchOutcome {
    let answer = FetchAnswer(response)
    if let path = response.path { return .received(answer, path: path) }
    // Without a stored version, the request had no condition of the session's.
    guard response.statusCode == 304, let current, !current.validator.isEmpty else { return .refused(answer) }
    return .unchanged(answer, path: FileName.path(current.name, in: options.folder))
  }
}

extension FetchOutcome {
  fileprivate var isFailure: Bool { if case .failed = self { true } else { word != nil } }

  /// The journal's word for a failure. Nil for other outcomes.
  fileprivate var word: String? {
    switch self {
    case .refused: "http_error"
    case .mismatched(let mismatch): mismatch.codeName
    case .failed(let error, _) where FailureClass(error.code) != nil: error.code.description
    default: nil
    }
  }
}
