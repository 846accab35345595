import HeadgateDispatch

// Checksums and mirrors of a file.

extension FetchRun {
  /// The same job with its checksum.
  func withChecksum(_ job: FetchJob) -> FetchJob {
    var job = job
    job.checksum = checksum(job, named: job.name)
    return job
  }

  /// The checksum that the body of a job must have, under this name.
  func checksum(_ job: FetchJob, named name: String?) -> Checksum? {
    checksums.expected(for: job, named: name, isFromJournal: options.retriesAll)
  }

  /// The job for the next mirror, if there is one and another server may succeed. Otherwise nil, and the outcome is final.
  func next(after job: FetchJob, _ outcome: FetchOutcome) -> FetchJob? {
    guard !job.mirrors.isEmpty, !isStopping, outcome.isFaultOfServer else { return nil }
    // Another mirror is another attempt.
    guard !outcome.leavesDoubt && !outcome.asksForRetry || options.sent.mayRepeat(job.request) else { return nil }
    var next = job
    while !next.mirrors.isEmpty {
      let url = next.mirrors.removeFirst()
      // Checked when the line was read.
      guard let request = try? request(url) else { continue }
      next.place = job.place ?? job.request.endPoint
      (next.mirror, next.request) = (url, request)
      options.prefersMirrors(of: &next)
      core.meet(request)
      outcomes.movedOn(job, outcome)
      return timeline == nil ? next : next.tagged
    }
    return nil
  }
}

extension FetchOutcome {
  /// Whether the status is one that `--retry` repeats requests for.
  fileprivate var asksForRetry: Bool {
    switch self {
    case .refused(let answer): RetryPolicy().statusCodes.contains(answer.head.statusCode)
    default: false
    }
  }

  /// Whether the server may have processed the request without a usable response.
  var leavesDoubt: Bool {
    switch self {
    case .mismatched: true
    case .refused(let answer): answer.head.mayBeOfProcessedRequest || answer.times?.earlier == .lost
    // A file fails only once the server has answered.
    case .failed(let error, _): error.leavesDoubt || error.code == .fileFailed
    default: false
    }
  }

  /// Whether another server may succeed.
  fileprivate var isFaultOfServer: Bool {
    switch self {
    case .refused, .mismatched: true
    case .failed(let error, _):
      FailureClass(error.code) != nil && ![.fileFailed, .deadlineExceeded, .invalidURL].contains(error.code)
    default: false
    }
  }
}

extension ResponseHead {
  /// Whether this is a redirect, or follows one, with which a server may have answered a request that it has processed.
  fileprivate var mayBeOfProcessedRequest: Bool {
    FollowedRedirect.isAnswer(statusCode) || redirects.contains(where: \.isAnswer)
  }
}
