import HeadgateThreads

/// Grants permits that several programs share, so that a limit holds for all of them together.
///
/// An ``EndPointGate`` with a coordinator asks it for each permit that the gate would grant, for requests of a
/// `URLDispatcher` (module HeadgateDispatch) and for other work alike. The gate still decides what is next; the
/// coordinator decides when that may start. While a request waits for a shared permit, its `timeout` does not run, its
/// `deadline` does, and cancelling takes effect at once.
///
///     let dispatcher = try URLDispatcher(limits: limits, coordinator: UnixCoordinator())
///     let gate = EndPointGate(limits: limits, coordinator: UnixCoordinator())
///
/// Three coordinators exist: ``LocalCoordinator`` for dispatchers of one process, `UnixCoordinator` of the module
/// HeadgateSharing for the programs of one machine, and `RedisCoordinator` of the module HeadgateRedis for many
/// machines. All of them grant permits in order of waiting time, and a permit counts at its end-point and in all of its
/// scopes or in none.
public protocol GateCoordinator: AnyObject, Sendable {
  /// The source of the permits, and what happens during an outage, in one readable line.
  var description: String { get }

  /// Requests a permit and returns at once.
  ///
  /// - Parameters:
  ///   - demand: What the permit is for.
  ///   - completion: Called once, from any thread: with the permit, or with an error. It must return soon. It may be
  ///     called before this method returns.
  /// - Returns: The place in the queue. Cancelling it calls the completion with the error `cancelled`.
  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest

  /// Ends all waiting requests with the error `shutDown` and closes the connection to the coordinator. Permits that are
  /// held stay valid until they are released.
  func shutDown()

  /// The same, and waits until the coordinator has been told what was released, at most until the deadline. For a
  /// program that is about to exit. By default it does not wait.
  func shutDown(waitingUntil deadline: Deadline) async
}

extension GateCoordinator {
  /// Shuts down without waiting.
  public func shutDown(waitingUntil deadline: Deadline) async { shutDown() }

  /// Suspends until a permit is granted, and returns it. Release it when the work is done.
  ///
  /// - Throws: ``DispatchError``: `cancelled` if the task is cancelled while it waits; `coordinatorUnavailable`;
  ///   `tooHeavy`; `shutDown`.
  public func permit(for demand: SharedDemand) async throws(DispatchError) -> any SharedPermit {
    let reply = Reply<any SharedPermit>()
    let request = requestPermit(demand) { result in reply.put(result) }
    await withTaskCancellationHandler {
      await reply.wait()
    } onCancel: {
      request.cancel()
    }
    return try reply.get()
  }

  /// Runs `body` while holding a shared permit, which is released when `body` returns or throws.
  ///
  /// - Throws: Like ``permit(for:)``. Also any error that `body` throws.
  public func withPermit<Value: Sendable>(
    for demand: SharedDemand, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async throws -> Value {
    let permit = try await permit(for: demand)
    defer { permit.release() }
    return try await body()
  }
}

/// A waiting request for a shared permit.
public protocol SharedPermitRequest: AnyObject, Sendable {
  /// Gives up the place in the queue: the completion gets the error `cancelled`. Has no effect after the permit was
  /// handed over.
  func cancel()
}

/// The right to run one request, under limits that several programs share. Valid until ``release()``.
public protocol SharedPermit: AnyObject, Sendable {
  /// Corrects the weights that were charged, by budget name. Units that were not used become free again; units beyond
  /// the charge become debt. Call it at most once, before or after the release. Returns whether the correction was made
  /// or sent.
  @discardableResult
  func settle(_ weights: [String: Int]) -> Bool

  /// Returns the permit, from any thread. Only the first call has an effect, and returns true.
  @discardableResult
  func release() -> Bool

  /// Returns the permit of work that did not begin. It says nothing about the end-point, and rates of
  /// ``LocalCoordinator`` and `UnixCoordinator` don't count it. Otherwise like ``release()``, which is the default.
  @discardableResult
  func decline() -> Bool
}

extension SharedPermit {
  /// Releases the permit.
  @discardableResult
  public func decline() -> Bool { release() }
}

/// What a shared permit is for, and the limits that the asking program has configured.
public struct SharedDemand: Sendable {
  /// The end-point.
  public let endPoint: EndPoint
  /// The lane.
  public let lane: RequestLane
  /// The scopes besides the end-point, without duplicates.
  public let scopes: [RequestScope]
  /// The expected weights, by budget name.
  public let weights: [String: Int]
  /// The limits of the end-point. If programs have configured different ones, `UnixCoordinator` and `RedisCoordinator`
  /// apply the strictest. ``LocalCoordinator`` applies those of the latest demand.
  public let limits: EndPointLimits
  /// The limits of those of its scopes that have any.
  public let scopeLimits: [RequestScope: ScopeLimits]

  /// Creates a demand.
  ///
  /// - Parameters:
  ///   - endPoint: The end-point.
  ///   - lane: The lane: `long` for work that stays open.
  ///   - scopes: The scopes that the work belongs to, besides its end-point.
  ///   - weights: The expected weights, by budget name.
  ///   - limits: The limits of the end-point and of the scopes.
  public init(
    for endPoint: EndPoint, lane: RequestLane = .short, scopes: [RequestScope] = [], weights: [String: Int] = [:],
    limits: GateLimits = .standard
  ) {
    self.endPoint = endPoint
    self.lane = lane
    self.scopes = StartNeeds(scopes: scopes).scopes
    self.weights = weights
    self.limits = limits.of(endPoint)
    var own: [RequestScope: ScopeLimits] = [:]
    for scope in self.scopes { own[scope] = limits.scopes[scope] }
    scopeLimits = own
  }

  init(_ demand: SharedDemand, _ limits: EndPointLimits, _ scopeLimits: [RequestScope: ScopeLimits]) {
    (endPoint, lane, scopes, weights) = (demand.endPoint, demand.lane, demand.scopes, demand.weights)
    (self.limits, self.scopeLimits) = (limits, scopeLimits)
  }
}
