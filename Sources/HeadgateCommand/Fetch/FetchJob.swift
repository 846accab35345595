import HeadgateDispatch

/// One URL of a run.
struct FetchJob: Sendable {
  /// The URL as given.
  let url: String
  var request: DispatchRequest
  /// Its index among all URLs, from 0.
  let index: Int
  /// The name of its file. Nil if bodies go to the output.
  var name: String?
  /// The session's plan for it. Nil if not known yet.
  var plan: SessionState.Plan?

  /// The same job with the tag that identifies it in the run's timeline.
  var tagged: FetchJob {
    var job = self
    job.request.tag = RunTimeline.tag(index)
    return job
  }
}

/// The outcome of one URL.
enum FetchOutcome: Sendable {
  case stored(FileResponse)
  case written(StreamedResponse, bytes: Int)
  case refused(ResponseHead, url: String, bytes: Int, times: DispatchTimes?)
  /// Its body, or the rest of it, was received and has its final name. `bytes` is its whole size.
  case kept(ResponseHead, url: String, path: String, bytes: Int, times: DispatchTimes?)
  /// It answered with a success status, and its body was not requested.
  case checked(ResponseHead, url: String, times: DispatchTimes?)
  /// Its body exists already; nothing was requested.
  case there(path: String, bytes: Int)
  /// Its body exists already, and the server says that it is current.
  case unchanged(ResponseHead, url: String, path: String, times: DispatchTimes?)
  /// The output may contain `sent` bytes of it anyway.
  case failed(DispatchError, sent: Int = 0)
  /// The output could not be written.
  case outputFailed(OutputError)
}
