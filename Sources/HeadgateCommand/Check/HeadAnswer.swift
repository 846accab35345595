import HeadgateDispatch
import HeadgateThreads

/// Evaluates the answer to a HEAD request.
enum HeadAnswer {
  typealias Answer = Result<StreamedResponse, DispatchError>

  /// Whether GET may give a different status. Many servers answer HEAD with an error, or close the connection.
  ///
  /// - Parameter retries: The number of retries by GET after a failure. HEAD is sent once.
  static func isUseless(_ answer: Answer, retries: Int) -> Bool {
    switch answer {
    case .success(let response):
      // These mean the same for GET: who asks, or how often.
      response.statusCode >= 400 && ![401, 407, 410, 429, 451].contains(response.statusCode)
        || retries > 0 && RetryPolicy().statusCodes.contains(response.statusCode)
    case .failure(let error):
      isClosing(error) || retries > 0 && [.connectFailed, .connectTimedOut, .idleTimedOut].contains(error.code)
    }
  }

  /// Whether the server refuses HEAD in general, so that its other URLs skip it.
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

/// End-points that don't support HEAD.
final class HeadlessEndPoints: Sendable {
  private let all = Locked(Set<EndPoint>())

  func has(_ endPoint: EndPoint) -> Bool { all.withLock { $0.contains(endPoint) } }

  func add(_ endPoint: EndPoint) { all.withLock { _ = $0.insert(endPoint) } }
}
