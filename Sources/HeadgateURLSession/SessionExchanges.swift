import Foundation
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of all sessions of a transport. Finds the exchange of each call.
final class SessionExchanges: NSObject, URLSessionDataDelegate {
  private struct Key: Hashable {
    // Task numbers are unique only within a session, so the object is the key.
    let task: ObjectIdentifier

    init(_ task: URLSessionTask) { self.task = ObjectIdentifier(task) }
  }

  // The session keeps a task alive until the call that removes it here.
  private let exchanges = Locked<[Key: SessionExchange]>([:])

  func add(_ exchange: SessionExchange, for task: URLSessionTask) {
    let key = Key(task)
    exchanges.withLock { $0[key] = exchange }
  }

  /// Cancels all exchanges: through `cancel`, because the answer to a redirect checks its flag.
  func cancelAll() {
    for exchange in exchanges.withLock({ Array($0.values) }) { exchange.cancel() }
  }

  private func exchange(of task: URLSessionTask) -> SessionExchange? {
    let key = Key(task)
    return exchanges.withLock { $0[key] }
  }

  private func removeExchange(of task: URLSessionTask) -> SessionExchange? {
    let key = Key(task)
    return exchanges.withLock { $0.removeValue(forKey: key) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    // The dispatcher follows redirects, with the permit of the new end-point.
    exchange(of: task)?.answer { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    exchange(of: task)?.sent(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    completionHandler(exchange(of: dataTask)?.received(response) == true ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.received(data)
  }

  #if canImport(Darwin)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    guard let metrics = metrics.transactionMetrics.last else { return }
    func time(_ end: Date?) -> Duration {
      guard let start = metrics.fetchStartDate, let end else { return .zero }
      return .seconds(max(0, end.timeIntervalSince(start)))
    }
    exchange(of: task)?.add(
      ExchangeTimes(
        name: time(metrics.domainLookupEndDate),
        connect: time(metrics.secureConnectionStartDate ?? metrics.connectEndDate),
        tls: time(metrics.secureConnectionEndDate)))
  }
  #endif

  #if canImport(FoundationNetworking)
  // Foundation on Linux asks this once the whole response has arrived. Without an answer, or with the default one, the
  // task would never complete. The response with the challenge is the result: the dispatcher answers challenges.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    removeExchange(of: task)?.ended(nil)
    completionHandler(.cancelAuthenticationChallenge, nil)
  }
  #endif

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let exchange = removeExchange(of: task) else { return }
    #if canImport(FoundationNetworking)
    // Foundation on Linux withholds the head of a redirect that it can't follow, one without `Location` for example.
    if error == nil, exchange.phase != .receiving, let response = task.response { _ = exchange.received(response) }
    #endif
    exchange.ended(error)
  }
}
