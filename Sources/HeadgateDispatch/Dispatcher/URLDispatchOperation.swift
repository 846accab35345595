import HTTPTypes
import HeadgateThreads

/// The handle of a request: waiting, running or ended.
///
/// Copies refer to the same request and are equal. Releasing a handle does not affect the request. Each property is a
/// snapshot, can be read from any thread, and takes O(1) unless stated otherwise.
public struct URLDispatchOperation: Sendable, Hashable {
  let operation: DispatchOperation

  /// The request as it was submitted.
  public var request: DispatchRequest { operation.request }

  /// The lane. `long` also after ``moveToLong()``.
  public var lane: RequestLane { operation.state.withLock { $0.lane } }

  /// The end-point; after a redirect, that of the new URL. Its description is `host:port`.
  public var endPoint: EndPoint { operation.endPoint }

  /// The priority. A change while the request waits moves it to the position it would have had from the start. A change
  /// while it runs takes effect only if a redirect makes it wait again.
  public var priority: RequestPriority {
    get { operation.priority }
    nonmutating set { operation.setPriority(newValue) }
  }

  /// What the request waits for: the one limit that keeps it from starting, and the number of requests ahead of it.
  /// Nil if it does not wait for a permit. O(n) in all requests that wait or run at the gate.
  public var waitReason: WaitReason? { operation.waitReason }

  /// Corrects the weights that the request was charged, by budget name. Units that it did not use become free again in
  /// the window that they were charged to; units beyond the charge become debt. Budgets not named keep the charge.
  ///
  /// Call it once, after the response has arrived and before its windows have passed; otherwise it returns false and
  /// changes nothing. If the request was sent several times, this corrects the charge of the last attempt. O(log n).
  /// See ``DispatchRequest/weights``.
  ///
  ///     operation.settle(["tokens": usage.totalTokens])
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool { operation.settle(weights) }

  /// The URL of the request; after redirects, the last one.
  public var url: String { operation.state.withLock { $0.request }.url }

  /// The state of the request.
  public var state: State { operation.state.withLock { $0.handleState } }

  /// Status and header fields. Nil until they have arrived, and for a request that never got a response. Redirects
  /// that are followed don't count.
  public var response: ResponseHead? { operation.state.withLock { $0.head } }

  /// The trailer fields. Empty before the end, if the server sent none, or if the transport does not support them
  /// (see ``TransportCapabilities/trailers``).
  public var trailers: HTTPFields { operation.state.withLock { $0.trailers } ?? [:] }

  /// The error, including `cancelled`. Nil while the request waits or runs, and after a complete response.
  public var error: DispatchError? { operation.state.withLock { $0.verdict } }

  /// The time spent in each phase. Nil until the request has ended.
  public var times: DispatchTimes? { operation.state.withLock { $0.finalTimes } }

  /// Ends the request at once with the error `cancelled`. A waiting request leaves the queue; a running one closes
  /// its connection. Does nothing after the end. Thread-safe.
  public func cancel() { operation.cancel() }

  /// Moves a short request that turns out to be a stream to the long lane, which frees its place among the short
  /// requests. Its `timeout` then ends with the response's head, or at once if the head has arrived; `idleTimeout`
  /// stays in force. Never ends the request, and never overtakes a request that waits for the long lane. O(1).
  ///
  /// - Returns: True if the request is now in the long lane, or already was. False if the lane is full (the request
  ///   continues as a short one), or if the request is not running.
  @discardableResult
  public func moveToLong() -> Bool { operation.moveToLong() }

  /// Whether both refer to the same request.
  public static func == (left: URLDispatchOperation, right: URLDispatchOperation) -> Bool {
    left.operation === right.operation
  }

  /// Hashes the identity of the request.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(operation)) }

  /// The state of a request. More states may be added: a `switch` needs a `default`.
  public struct State: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String

    /// Waiting for a permit: the first one, or after a redirect that of another end-point.
    public static let waiting = State(description: "waiting")
    /// Holding a permit.
    public static let running = State(description: "running")
    /// Ended with a complete response.
    public static let finished = State(description: "finished")
    /// Ended with an error other than `cancelled`.
    public static let failed = State(description: "failed")
    /// Ended by a cancellation.
    public static let cancelled = State(description: "cancelled")

    /// Whether the state is final.
    public var hasEnded: Bool { self != .waiting && self != .running }
  }
}
