import HeadgateDispatch

/// One URL of a run.
struct FetchJob: Sendable {
  /// As it was given.
  let url: String
  var request: DispatchRequest
  /// Its place among all URLs, from 0.
  let index: Int
  /// The name that its file gets; nil where bodies go to the output.
  var name: String?
  /// What a session has planned for it; nil: not known yet.
  var plan: SessionState.Plan?

  /// The same with the tag by which the run's timeline knows it.
  var tagged: FetchJob {
    var job = self
    job.request.tag = RunTimeline.tag(index)
    return job
  }
}

/// How one URL ended.
enum FetchOutcome: Sendable {
  case stored(FileResponse)
  case written(StreamedResponse, bytes: Int)
  case refused(ResponseHead, url: String, bytes: Int, times: DispatchTimes?)
  /// Its body came, or the rest of it, and has its name; so many bytes in all.
  case kept(ResponseHead, url: String, path: String, bytes: Int, times: DispatchTimes?)
  /// Its status is a good one, and that was all that was asked for.
  case checked(ResponseHead, url: String, times: DispatchTimes?)
  /// Its body is there already; nothing was asked.
  case there(path: String, bytes: Int)
  /// Its body is there already; the server says that it is the present one.
  case unchanged(ResponseHead, url: String, path: String, times: DispatchTimes?)
  /// So many bytes of it may be in the output all the same.
  case failed(DispatchError, sent: Int = 0)
  /// The output took no more.
  case outputFailed(OutputError)
}
