#if Redis
import HeadgateGate
import HeadgateThreads

/// Grants permits that programs on many machines share, through Redis 6.2 or later, or Valkey.
///
///     let coordinator = try RedisCoordinator("redis://limits.example:6379", namespace: "crawl")
///     let dispatcher = try URLDispatcher(limits: limits, coordinator: coordinator)
///
/// All programs with the same server, database and namespace share their limits. A program's permits are counted under
/// a lease, which a thread of its own renews: if the program dies, its permits are free again when the lease ends. A
/// permit takes two round trips. After Redis has restarted or lost its data, nothing is granted until the programs have
/// declared their permits, which takes at most the length of a lease. If programs have configured different limits, the
/// strictest apply, unless limits were set with ``RedisNamespace/configure(version:endPoints:scopes:quarantine:)``.
public final class RedisCoordinator: PauseSharing {
  /// The address of Redis.
  public let url: RedisURL
  /// The name under which programs share their limits.
  public let namespace: String
  private let outage: OutagePolicy
  private let link: RedisLink
  private let handler: OutageHandler

  /// Creates a coordinator. It connects at its first use.
  ///
  /// - Parameters:
  ///   - url: The address of Redis; see ``RedisURL``.
  ///   - namespace: The name under which programs share their limits: 1 to 64 letters, digits, `-`, `_` and `.`.
  ///   - lease: How long the permits of a program that has died stay counted: 1 to 60 seconds, the same for all programs.
  ///   - outage: Which requests may start while Redis can't be reached.
  /// - Throws: ``RedisError`` if the URL, the namespace or the lease is invalid.
  public convenience init(
    _ url: String, namespace: String = "headgate", lease: Duration = .seconds(5), outage: OutagePolicy = .failClosed()
  ) throws(RedisError) {
    try self.init(RedisURL(url), namespace: namespace, lease: lease, outage: outage)
  }

  init(_ url: RedisURL, namespace: String, lease: Duration, outage: OutagePolicy) throws(RedisError) {
    guard lease >= .seconds(1), lease <= .seconds(60) else {
      throw RedisError("a lease must be from 1 to 60 seconds, not \(lease)")
    }
    (self.url, self.namespace, self.outage) = (url, try RedisNamespace.checked(namespace), outage)
    link = RedisLink(url, namespace: namespace, lease: lease)
    handler = OutageHandler(link, outage)
  }

  deinit { shutDown() }

  /// A readable text: `permits shared as crawl at redis://limits.example:6379/0; without it nothing starts, …`
  public var description: String { "permits shared as \(namespace) at \(url); \(outage.description)" }

  /// Requests a permit; see `GateCoordinator`.
  public func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    handler.requestPermit(demand, completion: completion)
  }

  package func share(_ pause: SharedPause) { link.share(pause) }

  package func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) { link.whenPaused(hear) }

  /// Ends waiting requests with the error `shutDown`. Ends the session when the last permit is released.
  public func shutDown() { handler.shutDown() }

  /// The same, and waits until the last permit is released and Redis knows that this program has gone, at most until
  /// the deadline. Otherwise the time until the next program comes does not count for rates and budgets.
  public func shutDown(waitingUntil deadline: Deadline) async {
    shutDown()
    await link.waitForEnd(until: deadline)
  }
}
#endif
