import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// Requests the status of a URL: by HEAD, or by GET if the server does not answer HEAD as it would answer GET.

extension FetchRun {
  /// Queues a URL whose status is requested. Returns once it is queued.
  func startCheck(_ job: FetchJob) async {
    await whenNamed(job) { [self] job in
      outcomes.ended(job, await check(job))
      // The reader of the statuses is gone, so requesting the rest is useless.
      if outcomes.hasLostStatuses { core.end(atOnce: true) }
      ended(job)
    }
  }

  private func check(_ job: FetchJob) async -> FetchOutcome {
    var request = job.request
    if !headless.has(request.endPoint) {
      request.method = .head
      request.retry = nil
      let answer = await ask(request)
      guard HeadAnswer.isUseless(answer, retries: options.retries), !isStopping else { return outcome(answer) }
      if HeadAnswer.isOfServer(answer) { headless.add(request.endPoint) }
      request = job.request
      // Ahead of other requests for this host, most of which are HEAD: some servers close every connection after a
      // HEAD, and a host that does so repeatedly is given up.
      request.priority = .high
      request.deadline = timeLeft
    }
    return outcome(await ask(request))
  }

  private func ask(_ request: DispatchRequest) async -> Result<StreamedResponse, DispatchError> {
    do throws(DispatchError) {
      let response = try await dispatcher.stream(for: request)
      // The head is enough. Reading the body to its end could take forever.
      if request.method != .head { response.body.cancel() }
      var iterator = response.body.makeAsyncIterator()
      // Reads to the end, where the times become available.
      while (try? await iterator.next()) != nil {}
      return .success(response)
    } catch {
      return .failure(error)
    }
  }

  private func outcome(_ answer: Result<StreamedResponse, DispatchError>) -> FetchOutcome {
    switch answer {
    case .failure(let error): .failed(error)
    case .success(let response) where (200...299).contains(response.statusCode):
      .checked(FetchAnswer(response))
    case .success(let response): .refused(FetchAnswer(response))
    }
  }
}
