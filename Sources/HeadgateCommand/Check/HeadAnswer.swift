import HeadgateDispatch
import HeadgateThreads

/// What is made of the answer to a HEAD.
enum HeadAnswer {
  typealias Answer = Result<StreamedResponse, DispatchError>

  /// Whether GET may bring another status: many servers refuse HEAD, hide what it asks for, or close.
  ///
  /// - Parameter retries: HEAD is sent once; what it loses is asked for again by GET, as often as that says.
  static func isUseless(_ answer: Answer, retries: Int) -> Bool {
    switch answer {
    case .success(let response):
      [403, 404, 405, 501].contains(response.statusCode)
        || retries > 0 && RetryPolicy().statusCodes.contains(response.statusCode)
    case .failure(let error):
      isClosing(error) || retries > 0 && [.connectFailed, .connectTimedOut, .idleTimedOut].contains(error.code)
    }
  }

  /// Whether the server says so of HEAD itself, so that it need not be asked for its other URLs.
  static func isOfServer(_ answer: Answer) -> Bool {
    switch answer {
    case .success(let response): [405, 501].contains(response.statusCode)
    case .failure(let error): isClosing(error)
    }
  }

  private static func isClosing(_ error: DispatchError) -> Bool {
    [.connectionLost, .badResponse].contains(error.code)
  }
}

/// End-points that don't answer HEAD.
final class HeadlessEndPoints: Sendable {
  private let all = Locked(Set<EndPoint>())

  func has(_ endPoint: EndPoint) -> Bool { all.withLock { $0.contains(endPoint) } }

  func add(_ endPoint: EndPoint) { all.withLock { _ = $0.insert(endPoint) } }
}
