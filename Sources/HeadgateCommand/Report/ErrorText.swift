import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads

/// The message about a failed URL, with advice that names the command's own options.
enum ErrorText {
  static func of(_ error: DispatchError, askedFor endPoint: EndPoint, sent: Int = 0) -> String {
    // The URL already names its end-point, but not one that a redirect led to.
    let place = error.endPoint.flatMap { $0 == endPoint ? nil : "at \($0): " } ?? ""
    // The detail is complete: it names the file and the system's error.
    if error.code == .fileFailed { return error.detail }
    if let problem = error.underlyingError as? TokenProblem { return problem.description }
    let rest = sent > 0 ? "; its first \(Amount.bytes(sent)) are in the output" : ""
    return place + error.account + rest + advice(error, askedFor: endPoint)
  }

  private static func advice(_ error: DispatchError, askedFor endPoint: EndPoint) -> String {
    switch error.code {
    case .timedOut: "; raise --max-time, or lower --per-host"
    case .deadlineExceeded: "; raise --deadline"
    case .connectTimedOut: "; raise --connect-timeout"
    case .idleTimedOut: "; raise --idle-timeout"
    case .tooSlow: "; lower --speed-limit, or raise --speed-time"
    case .bodyTooLarge: "; raise --max-filesize"
    case .tooManyRedirects: "; raise --max-redirs"
    case .redirectRefused where endPoint.isUnixSocket: "; see --unix-socket, --redirects and --proto-redir"
    case .redirectRefused: "; see --redirects, --proto-redir and --allow-private-redirects"
    case .tlsFailed where error.detail.hasPrefix(TLSFailure.untrustedClient): "; give one with --cert and --key"
    case .tlsFailed where error.detail.hasPrefix(TLSFailure.untrustedServer):
      "; give the server's authority with --cacert"
    case .pausedUntil: "; raise --deadline, or see --retry-after"
    case .refusing:
      "; try again \(error.waitReason?.remaining.map { "in \($0.words)" } ?? "later"), or see --host-patience and headgate state --clear"
    case .unreachable: "; see --host-failures"
    case .proxyFailed: "; see --proxy and --noproxy"
    default: ""
    }
  }
}
