import HeadgateDispatch

/// One URL of a run.
struct FetchJob: Sendable {
  /// As it was given.
  let url: String
  let request: DispatchRequest
  /// Its place among all URLs, from 0.
  let index: Int
}

/// How one URL ended.
enum FetchOutcome: Sendable {
  case stored(FileResponse)
  case written(StreamedResponse, bytes: Int)
  case refused(status: Int, url: String, bytes: Int, times: DispatchTimes?)
  /// So many bytes of it may be in the output all the same.
  case failed(DispatchError, sent: Int = 0)
  /// The output took no more.
  case outputFailed(OutputError)
}
