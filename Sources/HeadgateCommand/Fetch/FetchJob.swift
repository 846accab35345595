import HeadgateDispatch

/// One URL of a run.
struct FetchJob: Sendable {
  /// The URL as given.
  let url: String
  var request: DispatchRequest
  /// Its index among all URLs, from 0.
  let index: Int
  /// Its line in its list, from 1.
  var line = 0
  /// The name of its file, or its path below the folder. Nil if bodies go to the output.
  var name: String?
  /// The name for the file that the list sets. Nil: the name is made from the URL.
  var wish: String?
  /// The expected checksum of the body. Nil if there is none.
  var checksum: Checksum?
  /// The mirror that is requested instead of the URL, and the further mirrors.
  var mirror: String?
  var mirrors: [String] = []
  /// The end-point under which it is counted in the queue. Nil: the request's own.
  var place: EndPoint?
  /// The session's plan for it. Nil if not known yet.
  var plan: SessionState.Plan?

  /// The same job with the tag that identifies it in the run's timeline.
  var tagged: FetchJob {
    var job = self
    job.request.tag = RunTimeline.tag(index)
    return job
  }
}

/// What a server has answered.
struct FetchAnswer: Sendable {
  let head: ResponseHead
  let url: String
  /// Of the body: the whole one if it was stored, or else what has arrived.
  var bytes = 0
  let times: DispatchTimes?

  init(_ response: FileResponse) {
    (head, url, bytes, times) = (response.head, response.url, response.bytes, response.times)
  }

  /// After the end of the body, which is not counted.
  init(_ response: StreamedResponse) { (head, url, times) = (response.head, response.url, response.body.times) }
}

/// The outcome of one URL.
enum FetchOutcome: Sendable {
  /// Its body, or the rest of it, was received, and is in a file, or in the output if there is no path.
  case received(FetchAnswer, path: String? = nil)
  /// The answer has no body to store.
  case refused(FetchAnswer)
  /// It answered with a success status, and its body was not requested.
  case checked(FetchAnswer)
  /// Its body exists already; nothing was requested.
  case complete(path: String, bytes: Int)
  /// Its body exists already, and the server says that it is current.
  case unchanged(FetchAnswer, path: String)
  /// Its body does not have the expected checksum.
  case mismatched(ChecksumError)
  /// It must not be sent twice, and its outcome in an earlier run is unknown.
  case unknown
  /// It failed, but `sent` bytes of its body may be in the output.
  case failed(DispatchError, sent: Int = 0)
  /// The output could not be written.
  case outputFailed(OutputError)
}

extension FetchOutcome {
  /// The outcome of a URL whose download ended with an error. One whose response was lost has failed, even if the end of
  /// the run then kept it from another attempt.
  static func ended(_ error: DispatchError) -> FetchOutcome {
    if let mismatch = error.underlyingError as? ChecksumError { return .mismatched(mismatch) }
    guard error.code == .shutDown, error.earlier == .lost else { return .failed(error) }
    return .failed(
      DispatchError(
        .connectionLost, phase: .receiving, endPoint: error.endPoint, detail: "the run ends before another attempt",
        waitReason: nil, attempts: error.attempts, earlier: .lost))
  }
}
