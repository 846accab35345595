import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

// The status of a URL: by HEAD where a server answers that as it would answer GET, else by GET.

extension FetchRun {
  /// Brings a URL to the queue whose status alone is asked for, and returns when it has a place there.
  func startCheck(_ job: FetchJob) async {
    // Throws for a cancelled task only, and this one never is.
    try? await nameRoom.wait()
    Task { [job] in
      let job = await named(job)
      report.ended(job, await check(job))
      // Nobody reads them: what is still to come is of no use.
      if report.hasLostStatuses { outputBroke() }
      nameRoom.signal()
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
      // Before others that wait for this host: some servers close every connection that has a HEAD, and hosts that do so
      // again and again are given up.
      request.priority = .high
      request.deadline = timeLeft
    }
    return outcome(await ask(request))
  }

  private func ask(_ request: DispatchRequest) async -> Result<StreamedResponse, DispatchError> {
    do throws(DispatchError) {
      let response = try await dispatcher.stream(for: request)
      // The head says all. To read a body to its end could take forever.
      if request.method != .head { response.body.cancel() }
      var iterator = response.body.makeAsyncIterator()
      // Up to the end, which the times come with.
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
      .checked(response.head, url: response.url, times: response.body.times)
    case .success(let response):
      .refused(response.head, url: response.url, bytes: 0, times: response.body.times)
    }
  }
}
