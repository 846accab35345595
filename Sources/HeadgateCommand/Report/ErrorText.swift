import HeadgateDispatch

/// What is said of a failed URL, with advice in terms of the command's own options.
enum ErrorText {
  static func of(_ error: DispatchError, askedFor endPoint: EndPoint, sent: Int = 0) -> String {
    // The URL names its end-point already; one that a redirect led to is news.
    let place = error.endPoint.flatMap { $0 == endPoint ? nil : "at \($0): " } ?? ""
    // The detail says it all: which file, and what the system has against it.
    if error.code == .fileFailed { return error.detail }
    let rest = sent > 0 ? "; its first \(Amount.bytes(sent)) are in the output" : ""
    return place + error.account + rest + advice(error.code)
  }

  private static func advice(_ code: DispatchError.Code) -> String {
    switch code {
    case .timedOut: "; raise --max-time, or lower --per-host"
    case .deadlineExceeded: "; raise --deadline"
    case .connectTimedOut: "; raise --connect-timeout"
    case .idleTimedOut: "; raise --idle-timeout"
    case .tlsFailed: "; give the server's authority with --cacert"
    default: ""
    }
  }
}
