import HeadgateDispatch

// One URL, to its file or to the output.

extension FetchRun {
  /// The rest of a refused response is read to its end when it is no longer than this, so that its connection can be
  /// used again.
  private static let mostDrained = 64 * 1024

  /// Brings a URL to its place in the queue, and returns when it has one.
  func fetch(_ job: FetchJob) async {
    switch options.target {
    case .folder(let folder): await store(job, in: folder)
    case .output:
      await output.turns.enter(job.index)
      pending.enter()
      Task {
        await print(job)
        pending.leave()
      }
    }
  }

  private func store(_ job: FetchJob, in folder: String) async {
    let name = FileName.of(job.request.url)
    let path = folder == "." ? name : folder + (folder.hasSuffix("/") ? "" : "/") + name
    pending.enter()
    await dispatcher.dispatchShort(
      enqueuing: job.request,
      to: options.overwrites ? .replacing(path) : .numbered(path),
      onProgress: received?.listener()
    ) { [report, pending] result in
      switch result {
      case .success(let response): report.ended(job, .stored(response))
      case .failure(let error): report.ended(job, .failed(error))
      }
      pending.leave()
    }
  }

  /// Streams a body to the output when it is its turn, and gathers it until then. The turn is passed on whatever
  /// happens.
  private func print(_ job: FetchJob) async {
    let body = HeldBody(on: output.crew, output.held)
    var outcome: FetchOutcome
    var sent = 0
    do {
      outcome = try await receive(job, into: body, &sent)
      await output.turns.wait(for: job.index)
      if output.isBroken { outcome = .failed(DispatchError(.shutDown)) }
      if case .written = outcome {
        try await body.empty { piece throws(OutputError) in try await output.write(piece) }
      }
    } catch let error as OutputError {
      // Not only when its turn has come: others may need the space until then.
      body.discard()
      // The output breaks for one of them; the others are not wanted any more. A temporary file is its body's own.
      let isOwn = !output.isBroken || output.takeBreak()
      outcome = isOwn ? .outputFailed(error) : .failed(DispatchError(.shutDown))
    } catch {
      body.discard()
      let error = error as? DispatchError ?? DispatchError(.transportFailed, underlying: error)
      outcome = .failed(error, sent: sent)
    }
    report.ended(job, outcome)
    if output.isBroken { outputBroke() }
    await output.turns.wait(for: job.index)
    output.turns.pass()
  }

  private func receive(_ job: FetchJob, into held: HeldBody, _ sent: inout Int) async throws -> FetchOutcome {
    let response = try await dispatcher.stream(for: job.request)
    var iterator = response.body.makeAsyncIterator()
    var bytes = 0
    guard (200...299).contains(response.statusCode) else {
      while bytes <= Self.mostDrained, let piece = try await iterator.next() {
        bytes += piece.count
        received?.add(piece.count)
      }
      return .refused(status: response.statusCode, url: response.url, bytes: bytes, times: response.body.times)
    }
    while let piece = try await iterator.next() {
      bytes += piece.count
      received?.add(piece.count)
      // What broke off before its turn leaves no trace in the output.
      guard output.turns.has(job.index) else {
        try await held.append(piece)
        continue
      }
      try await held.empty { piece throws(OutputError) in try await output.write(piece) }
      try await output.write(piece)
      sent = bytes
    }
    return .written(response, bytes: bytes)
  }
}
