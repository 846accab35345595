import HTTPTypes
import HeadgateThreads

/// The handle of one request on its way through a dispatcher: waiting, running, ended.
///
/// Copies are handles of the same request, and equal. Letting go of it changes nothing. Every property tells of the
/// moment when it is read; all of them may be read from any thread, O(1).
public struct URLDispatchOperation: Sendable, Hashable {
  let operation: DispatchOperation

  /// The request as it was submitted.
  public var request: DispatchRequest { operation.request }

  /// Its lane: `long` also for one that ``moveToLong()`` has moved.
  public var lane: RequestLane { operation.state.withLock { $0.lane } }

  /// Where it is for; after a redirect, where that points. Its description is `host:port`.
  public var endPoint: EndPoint { operation.endPoint }

  /// How soon it starts. Changeable while it waits: it takes the place that it would have had from the start. Changes
  /// nothing for one that runs, until a redirect makes it wait again.
  public var priority: RequestPriority {
    get { operation.priority }
    nonmutating set { operation.setPriority(newValue) }
  }

  /// The URL that is asked; after redirects, the last one.
  public var url: String { operation.state.withLock { $0.request }.url }

  /// Where it stands.
  public var state: State { operation.state.withLock { $0.handleState } }

  /// Status and header fields, as soon as they have come; nil before, and for one that never got any. Redirects that are
  /// followed don't count.
  public var response: ResponseHead? { operation.state.withLock { $0.head } }

  /// The fields that came after the body. Empty before the end, when there were none, and from a transport that does not
  /// bring them (see ``TransportCapabilities/trailers``).
  public var trailers: HTTPFields { operation.state.withLock { $0.trailers } ?? [:] }

  /// Why it did not come to its end, `cancelled` included; nil while it waits or runs, and when the response was whole.
  public var error: DispatchError? { operation.state.withLock { $0.verdict } }

  /// What took how long; nil until it has ended.
  public var times: DispatchTimes? { operation.state.withLock { $0.finalTimes } }

  /// Ends it at once with the error `cancelled`: in the queue its place is free, while running its connection is
  /// closed. Does nothing once it has ended. From any thread.
  public func cancel() { operation.cancel() }

  /// Moves a short request that turns out to be a stream to the long lane, so that it no longer takes the place of short
  /// ones. From then on its `timeout` is over, or ends with the response's head if that has not come; the idle limit
  /// holds as before. Never ends the request, and never overtakes one that waits for the long lane. O(1).
  ///
  /// - Returns: True if it runs in the long lane now, also when it did so before. False if the lane has no place (it
  ///   runs on as a short one), or if the request does not run.
  @discardableResult
  public func moveToLong() -> Bool { operation.moveToLong() }

  /// Whether both are handles of one request.
  public static func == (left: URLDispatchOperation, right: URLDispatchOperation) -> Bool {
    left.operation === right.operation
  }

  /// Feeds the request's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(operation)) }

  /// Where a request stands. More may be added: a `switch` needs a `default`.
  public struct State: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String

    /// It waits for a permit: for its first one, or after a redirect for that of another end-point.
    public static let waiting = State(description: "waiting")
    /// It holds a permit.
    public static let running = State(description: "running")
    /// Its response was whole.
    public static let finished = State(description: "finished")
    /// It ended with an error other than `cancelled`.
    public static let failed = State(description: "failed")
    /// It was cancelled.
    public static let cancelled = State(description: "cancelled")

    /// Whether nothing follows any more.
    public var hasEnded: Bool { self != .waiting && self != .running }
  }
}
