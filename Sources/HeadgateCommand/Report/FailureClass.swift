import HeadgateDispatch

/// The kinds of failures, each with an exit status.
enum FailureClass: Hashable, Sendable, CaseIterable {
  case usage, file, network, tls, time, http, refusing

  /// The class of an error. Nil for an error of a request that was cancelled or skipped.
  init?(_ code: DispatchError.Code) {
    switch code {
    case .cancelled, .shutDown: return nil
    case .invalidURL: self = .usage
    case .fileFailed: self = .file
    case .tlsFailed: self = .tls
    case .timedOut, .deadlineExceeded, .connectTimedOut, .idleTimedOut, .tooSlow, .pausedUntil: self = .time
    case .refusing: self = .refusing
    // The status is that of a redirect and not 2xx.
    case .redirectRefused, .tooManyRedirects, .badRedirect: self = .http
    default: self = .network
    }
  }

  /// The exit status if all failures are of this class.
  var exitStatus: ExitStatus {
    switch self {
    case .usage: .usage
    case .file: .file
    case .network: .network
    case .tls: .tls
    case .time: .time
    case .http: .http
    case .refusing: .refusing
    }
  }
}
