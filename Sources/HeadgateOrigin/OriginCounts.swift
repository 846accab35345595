/// What one end-point of an ``Origin`` has seen, counted by the server and not by the client that is on trial.
///
/// Until the counts are reset, `received` is the sum of `served`, `aborted`, `requests` and the requests that the
/// server itself broke off (`/reset`, `/short`, `/garbage`, a stop), which have no count of their own.
public struct OriginCounts: Sendable, Hashable, Codable {
  /// Connections open now, those that are left unanswered because of the limit included.
  public var sockets = 0

  /// The most connections that were open at once.
  public var peakSockets = 0

  /// Requests being answered now: from the last byte of the head until the answer has been handed to the system whole
  /// or the connection died.
  public var requests = 0

  /// The most requests that were being answered at once.
  public var peakRequests = 0

  /// Connections accepted in all.
  public var accepted = 0

  /// Requests whose answer has been handed to the system whole.
  public var served = 0

  /// Connections left unanswered because ``OriginScript/connectionLimit`` others were open.
  public var refused = 0

  /// Requests whose client closed the connection before the answer was whole.
  public var aborted = 0

  /// Request heads read whole in all; malformed ones don't count.
  public var received = 0

  /// Bytes of requests' bodies that were read.
  public var bodyBytes = 0

  /// Counts that are all zero.
  public init() {}
}

extension OriginCounts {
  /// How a request came to its end.
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

  /// The counts of an origin that has just met what is open now.
  func restarted() -> OriginCounts {
    var counts = OriginCounts()
    counts.sockets = sockets
    counts.peakSockets = sockets
    counts.requests = requests
    counts.peakRequests = requests
    return counts
  }
}
