import HeadgateDispatch

/// What kind of thing went wrong: one exit status for each kind.
enum FailureClass: Hashable, Sendable, CaseIterable {
  case usage, file, network, tls, time, http

  /// The class of an error; nil for one that means that the request was not wanted any more.
  init?(_ code: DispatchError.Code) {
    switch code {
    case .cancelled, .shutDown: return nil
    case .invalidURL: self = .usage
    case .fileFailed: self = .file
    case .tlsFailed: self = .tls
    case .timedOut, .deadlineExceeded, .connectTimedOut, .idleTimedOut, .tooSlow, .pausedUntil: self = .time
    // What the server answered is a redirect, which is no 2xx.
    case .redirectRefused, .tooManyRedirects, .badRedirect: self = .http
    default: self = .network
    }
  }

  /// The exit status when nothing of another class failed.
  var exitStatus: ExitStatus {
    switch self {
    case .usage: .usage
    case .file: .file
    case .network: .network
    case .tls: .tls
    case .time: .time
    case .http: .http
    }
  }
}
