import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// Fetches a URL of a session, from its plan to its file.

extension FetchRun {
  /// What a request asks for: all of a body, the rest of it, or a newer version.
  private enum Asked {
    case all
    case rest(from: Int, Validator)
    case change(Validator)

    var offset: Int? { if case .rest(let offset, _) = self { offset } else { nil } }

    var tag: String? { if case .rest(_, let validator) = self { validator.tag } else { nil } }

    func add(to fields: inout HTTPFields) {
      switch self {
      case .all: break
      case .rest(let offset, let validator):
        fields[.range] = "bytes=\(offset)-"
        fields[.ifRange] = validator.forRange
      case .change(let validator):
        fields[.ifNoneMatch] = validator.tag
        if validator.tag == nil { fields[.ifModifiedSince] = validator.modified }
      }
    }
  }

  /// Determines from the session's journal and folder what is left to do for a URL, and assigns its file name. Nil: it
  /// has ended without a request.
  func plan(_ job: FetchJob, _ session: Session) async -> FetchJob? {
    let key = options.key(job)
    guard !session.passesOver(key) else {
      report.exclude()
      return nil
    }
    let plan = await plan(key, job, session)
    var name: String?
    switch plan {
    case .complete(let file):
      report.ended(job, .complete(path: session.path(file.name), bytes: file.size))
      return nil
    case .confirm(let file):
      await session.confirm(file, of: key)
      report.ended(job, .complete(path: session.path(file.name), bytes: file.size))
      return nil
    case .name(let file, _): name = file.name
    case .renew(let file):
      // Not for every file: until the server has answered, an earlier failure remains one.
      if session.whole(key) == file { await session.confirm(file, of: key) }
      name = file.name
    case .goOn(let given, _, _): name = given
    case .begin(let given): name = given
    case .unknown:
      report.ended(job, .unknown)
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
        await turns.run(at: job.request.endPoint) { await bringOnce(job, description, session) }
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
    guard !isStopping else { return report.ended(job, .failed(DispatchError(.shutDown))) }
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
      let isOwn = job.mirror == nil
      let part = PartWriter(
        description.key, named: description.name, checksum: job.checksum, isOwn: isOwn, in: session,
        resumes: options.sent.isPlainGet)
      // Nil: the disk accepts no more files, which has already been reported.
      guard let outcome = await outcome(job, part, plan, session) else { return }
      leavesDoubt = leavesDoubt || part.wasCutShort || outcome.leavesDoubt
      if let next = next(after: job, outcome) {
        (job, plan) = (await named(next), .begin(name: description.name))
        continue
      }
      note(first, outcome, leavesDoubt: leavesDoubt, of: description, session)
      return report.ended(job, outcome)
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

  private func outcome(
    _ job: FetchJob, _ part: PartWriter, _ plan: SessionState.Plan, _ session: Session
  ) async -> FetchOutcome? {
    do {
      return try await transfer(job, part, plan, session)
    } catch let mismatch as ChecksumError {
      return .mismatched(mismatch)
    } catch {
      let failure = error as? DispatchError ?? session.unwritten(part.name, error)
      if error is SystemError, DiskFault.isLasting(failure) || session.journal.failure != nil {
        diskFailed(job, failure)
        return nil
      }
      await part.leave()
      return .failed(failure)
    }
  }

  /// Requests the missing part of a body, with as many retries as the options allow.
  private func transfer(
    _ job: FetchJob, _ part: PartWriter, _ plan: SessionState.Plan, _ session: Session
  ) async throws -> FetchOutcome {
    var (asked, plan) = (Asked.all, plan)
    if case .name(let file, let renews) = plan {
      let path = try await session.name(file, of: part.key)
      guard renews else { return .complete(path: path, bytes: file.size) }
      plan = .renew(file)
    }
    switch plan {
    case .renew(let file) where !file.validator.isEmpty: asked = .change(file.validator)
    case .goOn(_, let offset, let validator): asked = .rest(from: offset, validator)
    case .complete, .confirm, .name, .renew, .begin, .unknown: break
    }
    var left = options.retries + 1
    var cut: DispatchError?
    while true {
      do {
        var request = job.request
        request.deadline = timeLeft
        request.retry = options.retryPolicy(attempts: left)
        asked.add(to: &request.headerFields)
        let response = try await dispatcher.stream(for: request)
        switch try await take(response, asked, part, plan) {
        case .outcome(let outcome): return outcome
        case .next(let next): asked = next
        }
      } catch let error as DispatchError
        where error.isCutShort && error.attempts < left && !isStopping && options.sent.mayRepeat(job.request)
      {
        cut = error
        left -= max(1, error.attempts)
        part.wasCutShort = true
        try await part.flush()
        // Until the first bytes are written, an earlier part is still there to be continued.
        if part.isBegun { asked = part.canGoOn ? .rest(from: part.size, part.validator) : .all }
        await rest(after: options.retries + 1 - left)
        guard !isStopping else { throw error }
      } catch let error as DispatchError where error.code == .shutDown {
        // The run may stop at any moment after the check above. A URL whose body was cut short has failed even then.
        throw cut ?? error
      }
    }
  }

  /// How a URL ends, or what must be requested next.
  private enum Taken {
    case outcome(FetchOutcome)
    case next(Asked)
  }

  /// Processes a response.
  private func take(
    _ response: StreamedResponse, _ asked: Asked, _ part: PartWriter, _ plan: SessionState.Plan
  ) async throws -> Taken {
    let head = response.head
    let answer = RangeAnswer(
      status: response.statusCode, contentRange: head[.contentRange], tag: head[.eTag], after: asked.offset,
      of: asked.tag)
    var total: Int?
    switch answer {
    case .unusable:
      response.body.cancel()
      return .next(.all)
    case .refused:
      let bytes = try await drain(response)
      // Another run can continue the part, unless there is no such body any more. A part that this run has not touched
      // stays.
      if [404, 410].contains(response.statusCode) { await part.drop() } else { await part.leave() }
      return .outcome(.refused(head, url: response.url, bytes: bytes, times: response.body.times))
    case .unchanged:
      // Without a stored version, the request had no condition of the session's, and would be answered in the same way
      // again.
      guard case .change = asked, case .renew(let file) = plan else {
        let bytes = try await drain(response)
        await part.drop()
        return .outcome(.refused(head, url: response.url, bytes: bytes, times: response.body.times))
      }
      _ = try await drain(response)
      let path = FileName.path(file.name, in: options.folder)
      return .outcome(.unchanged(head, url: response.url, path: path, times: response.body.times))
    case .complete:
      guard case .rest(let offset, let validator) = asked else { return .next(.all) }
      try checkSize(offset, response)
      _ = try await drain(response)
      try await part.goOn(from: offset, of: validator)
    case .rest(let length):
      guard case .rest(let offset, let validator) = asked else { return .next(.all) }
      try checkSize(length, response)
      total = length
      try await part.goOn(from: offset, of: validator)
      try await receive(response, into: part)
      // A server may send less than was requested (RFC 9110, section 15.3.7).
      if offset < part.size, part.size < length {
        try await part.flush()
        return .next(.rest(from: part.size, validator))
      }
    case .all:
      part.begin(Validator(tag: head[.eTag], modified: head[.lastModified]))
      try await receive(response, into: part)
    }
    guard total.map({ $0 == part.size }) ?? true else {
      await part.drop()
      throw DispatchError(
        .badResponse, phase: .receiving, endPoint: try? EndPoint(response.url),
        detail: "the parts of the body have \(part.size) bytes in total instead of \(total ?? 0)")
    }
    let path = try await part.finish(modified: options.takesTimes ? part.validator.modifiedSeconds : nil)
    return .outcome(.kept(head, url: response.url, path: path, bytes: part.size, times: response.body.times))
  }

  /// Throws if a body that is continued is larger than `--max-filesize`, which a response can't tell of its rest alone.
  private func checkSize(_ size: Int, _ response: StreamedResponse) throws(DispatchError) {
    guard let most = options.maxBytes, size > most else { return }
    response.body.cancel()
    throw DispatchError(
      .bodyTooLarge, phase: .receiving, endPoint: try? EndPoint(response.url),
      detail: "the whole body has \(size) bytes, the limit is \(most)")
  }

  private func receive(_ response: StreamedResponse, into part: PartWriter) async throws {
    for try await piece in response.body {
      received?.add(piece.count)
      try await part.append(piece)
    }
  }

  private func drain(_ response: StreamedResponse) async throws -> Int {
    var bytes = 0
    var iterator = response.body.makeAsyncIterator()
    while bytes <= Self.mostDrained, let piece = try await iterator.next() { bytes += piece.count }
    return bytes
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
