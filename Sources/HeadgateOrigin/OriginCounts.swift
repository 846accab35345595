/// The counts of one end-point of an ``Origin``, measured by the server rather than the client under test.
///
/// Unless the counts are reset, `received` is the sum of `served`, `aborted`, `requests` and the requests aborted by
/// the server itself (`/reset`, `/short`, `/garbage`, a stop), which are not counted separately.
public struct OriginCounts: Sendable, Hashable, Codable {
  /// Connections open now, including those left unanswered because of the limit.
  public var sockets = 0

  /// The maximum number of connections open at once.
  public var peakSockets = 0

  /// Requests being answered now: from the last byte of the head until the complete response was passed to the
  /// system, or the connection ended.
  public var requests = 0

  /// The maximum number of requests being answered at once.
  public var peakRequests = 0

  /// The total number of connections accepted.
  public var accepted = 0

  /// Requests whose complete response was passed to the system.
  public var served = 0

  /// Connections left unanswered because ``OriginScript/connectionLimit`` others were open.
  public var refused = 0

  /// Requests whose client closed the connection before the response was complete.
  public var aborted = 0

  /// The total number of complete request heads; malformed ones are not counted.
  public var received = 0

  /// Body bytes read.
  public var bodyBytes = 0

  /// Creates counts of zero.
  public init() {}
}

extension OriginCounts {
  /// The outcome of a request.
  enum Outcome { case served, aborted, broken }

  mutating func opened(refused isRefused: Bool) {
    accepted += 1
    if isRefused { refused += 1 }
    sockets += 1
    peakSockets = max(peakSockets, sockets)
  }

  mutating func closed() { sockets -= 1 }

  mutating func began() {
    received += 1
    requests += 1
    peakRequests = max(peakRequests, requests)
  }

  mutating func ended(_ outcome: Outcome) {
    requests -= 1
    switch outcome {
    case .served: served += 1
    case .aborted: aborted += 1
    case .broken: break
    }
  }

  /// The counts after a reset, given what is open now.
  func restarted() -> OriginCounts {
    var counts = OriginCounts()
    counts.sockets = sockets
    counts.peakSockets = sockets
    counts.requests = requests
    counts.peakRequests = requests
    return counts
  }
}
