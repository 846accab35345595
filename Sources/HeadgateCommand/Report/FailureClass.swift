import HeadgateDispatch

/// The kinds of failures, each with the exit status of a run that has no other ones.
enum FailureClass: Int32, Sendable, CaseIterable {
  case usage = 2
  case file, network, tls, time
  case http = 8
  case refusing = 75

  /// The class of an error. Nil for an error of a request that was cancelled or skipped.
  init?(_ code: DispatchError.Code) {
    switch code {
    case .cancelled, .shutDown: return nil
    case .invalidURL: self = .usage
    // The one interceptor that fails is that of --token-command.
    case .fileFailed, .bodyFailed, .interceptorFailed: self = .file
    case .tlsFailed: self = .tls
    case .timedOut, .deadlineExceeded, .connectTimedOut, .idleTimedOut, .tooSlow, .pausedUntil: self = .time
    case .refusing: self = .refusing
    // The status is that of a redirect and not 2xx.
    case .redirectRefused, .tooManyRedirects, .badRedirect: self = .http
    default: self = .network
    }
  }

  var exitStatus: ExitStatus { ExitStatus(rawValue: rawValue) }
}
