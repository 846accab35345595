import HeadgateGate
import HeadgateThreads

/// One exchange of a request.
struct ExchangeState {
  /// The number of exchanges before it.
  let number: Int
  /// What the gate counts the request as: a permit, or, for a response delivered after interceptors have reviewed it,
  /// an expected request.
  var claim: OperationState.Claim
  /// Whether it is the first exchange under its permit, so that the permit is unused if this one is not sent.
  var isFirst = false
  /// Whether it repeats an exchange that met a closed connection.
  var isRepeat = false
  /// What happens to the response.
  var course = Course.open
  var isPaused = false
  /// What it waits for.
  var holds: Holds = []
  /// Whether it has passed the head of a long request, which ends the timeout.
  var isPastTimeout = false
  /// The consumer had room again before the transport's control was known.
  var missedResume = false
  /// Whether its consumer needs no more of the response, which counts as complete.
  var isEnough = false
  /// Why it was given up. It is cancelled, and this is its failure, whatever the transport reports.
  var fault: DispatchError?

  /// Nothing has happened to the response yet.
  var isOpen: Bool { if case .open = course { true } else { false } }

  /// The response is delivered to the consumer.
  var isTold: Bool { if case .told = course { true } else { false } }

  /// The consumer has received nothing, no other exchange follows, and the exchange was not given up.
  var isUntold: Bool {
    guard fault == nil else { return false }
    return switch course {
    case .open, .kept: true
    case .told, .asked, .followed: false
    }
  }

  var isHeld: Bool { !holds.isEmpty }

  var needsTimeout: Bool { !isPastTimeout && !isHeld }

  /// What is returned after its end.
  func claim(after end: ExchangeEnd) -> OperationState.Claim {
    guard isFirst, !end.wasSent, case .permit(let ticket) = claim else { return claim }
    return .unusedPermit(ticket)
  }

  /// Why an exchange waits. A waiting exchange does not run, and its timeout stops.
  struct Holds: OptionSet {
    let rawValue: UInt8

    /// The transport has no socket for it.
    static let socket = Holds(rawValue: 1)
    /// The collected bodies take too much memory.
    static let memory = Holds(rawValue: 2)
    /// The bandwidth limit is used up, for the response.
    static let response = Holds(rawValue: 4)
    /// The bandwidth limit is used up, for the request's body.
    static let body = Holds(rawValue: 8)

    static let all: Holds = [.socket, .memory, .response, .body]

    /// What is waited for. If that is more than one thing, the first of these: a socket, memory, bandwidth.
    var kind: WaitReason.Kind { contains(.socket) ? .socket : contains(.memory) ? .memory : .bandwidth }
  }

  /// What happens to a response. Rare cases are indirect, because each event copies the state of the exchange.
  enum Course {
    /// Undecided: the head has not arrived.
    case open
    /// It is delivered to the consumer.
    case told
    /// The consumer is asked for a credential.
    indirect case asked(ResponseHead)
    /// It is withheld for interceptors.
    case kept(KeptResponse)
    /// It is skipped, and another exchange follows. Counts the skipped bytes.
    indirect case followed(FollowUp, passedOver: Int = 0)
  }
}

/// What follows an exchange.
enum FollowUp {
  case redirect(DispatchRequest, FollowedRedirect)
  /// The same request with a credential.
  case credential(DispatchRequest)
  /// The same request for the rest of the body, or for all of it because the rest was refused.
  case range(DispatchRequest)
  /// The same request at once, on a new connection.
  case repeated(DispatchRequest)
  /// The same request after a rest, or after the end-point's pause, which does not count as an attempt if it was deferred.
  case retry(DispatchRequest, after: Duration, isUnprocessed: Bool = false, isDeferred: Bool = false)

  /// Whether the server says that it has not processed the request. Only for what was planned at a head.
  var isUnprocessed: Bool {
    switch self {
    case .repeated: true
    case .retry(_, _, let isUnprocessed, _): isUnprocessed
    case .redirect, .credential, .range: false
    }
  }

  /// Whether the same request is sent once more.
  var isAnotherAttempt: Bool {
    switch self {
    case .repeated, .retry: true
    case .redirect, .credential, .range: false
    }
  }
}

/// An exchange to start.
struct Launch {
  let request: DispatchRequest
  let number: Int
  let isLong: Bool
  let needsNewConnection: Bool
  /// The interceptors' data.
  let interceptions: Interceptions?
  /// Why it is sent again to the same end-point, under the permit of the last exchange. Nil for others.
  let resending: WaitingStart.Reason?
}
