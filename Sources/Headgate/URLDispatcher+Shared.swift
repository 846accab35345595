import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import HeadgateURLSession
#else
import HeadgateCurl
#endif

/// The default transport: URLSession on Apple's systems, libcurl elsewhere.
private func platformTransport() throws(DispatchError) -> any Transport {
  #if canImport(Darwin)
  URLSessionTransport()
  #else
  try CurlTransport()
  #endif
}

extension URLDispatcher {
  /// The shared dispatcher of the process, over the platform's transport with standard limits.
  ///
  /// Created at its first use. After ``disposeShared()`` the next use creates a new one with standard limits. Both
  /// share one gate, so that sockets which the old one is still closing count toward the limits of the new one. If
  /// the system has no thread or descriptor left, the result is a dispatcher whose requests all fail with that error,
  /// and the next use tries again.
  public static var shared: URLDispatcher {
    // Requests that the standard limits admit are started with no lock held.
    var start: (@Sendable () -> Void)?
    defer { start?() }
    return sharedDispatcher.withLock { shared in
      if let shared { return shared }
      do throws(DispatchError) {
        let transport = try platformTransport()
        start = sharedGate.startAfresh(.standard)
        let dispatcher = URLDispatcher(transport: transport, sharing: sharedGate)
        shared = dispatcher
        return dispatcher
      } catch {
        return URLDispatcher(transport: FailingTransport(failure: error))
      }
    }
  }

  /// Ends the shared dispatcher, if there is one: its waiting and running requests fail with `shutDown`, and so do
  /// waiting requests for bare permits of its gate.
  public static func disposeShared() {
    let (disposed, permits) = sharedDispatcher.withLock { shared in
      // Read under the lock, so that permit requests of the next dispatcher are not included.
      (shared.take(), sharedGate.permitRequests)
    }
    guard let disposed else { return }
    disposed.dispose()
    for permit in permits { permit.asked(toEndBecause: .shutDown) }
  }

  /// Creates a dispatcher over the platform's transport.
  ///
  /// - Parameters:
  ///   - limits: The maximum number of running requests, for each end-point and in total, and of waiting requests.
  ///   - observers: Receive the events of its requests, for example the metrics and traces of `HeadgateInstruments`.
  ///   - interceptors: Change its requests before they start, for example `BearerTokens`.
  ///   - coordinator: Grants permits that several programs share, for example `UnixCoordinator`.
  ///   - state: Keeps what servers have said for later processes; see `GateState`.
  ///   - maxBodyMemory: The total size in bytes of the bodies collected in memory; see `standardBodyMemory`.
  ///   - rateLimitFields: The header fields in which servers state waits and quotas.
  /// - Throws: `DispatchError` with `transportFailed` if the system has no thread or descriptor left.
  public convenience init(
    limits: GateLimits = .standard, observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], coordinator: (any GateCoordinator)? = nil,
    state: GateState? = nil, maxBodyMemory: Int = URLDispatcher.standardBodyMemory,
    rateLimitFields: RateLimitFields = .standard
  ) throws(DispatchError) {
    self.init(
      transport: try platformTransport(), limits: limits, observers: observers, interceptors: interceptors,
      coordinator: coordinator, state: state, maxBodyMemory: maxBodyMemory, rateLimitFields: rateLimitFields)
  }
}

extension URLDispatcher {
  /// Creates a dispatcher over the platform's transport, with a limit for each end-point (host and port) and otherwise
  /// the standard limits.
  ///
  ///     let dispatcher = try URLDispatcher(perHost: 4)
  ///
  /// - Parameter perHost: The maximum number of requests that run at an end-point, 1 or more. Half of them may be long.
  /// - Throws: `LimitError` if the number is below 1; otherwise as `init(limits:)`.
  public convenience init(perHost: Int) throws {
    try self.init(limits: GateLimits(endPoint: EndPointLimits(requests: perHost)))
  }
}

private let sharedDispatcher = Locked<URLDispatcher?>(nil)

// The gate of all shared dispatchers, one after another.
private let sharedGate = EndPointGate()

/// Replaces a transport that could not be created.
private struct FailingTransport: Transport {
  let failure: DispatchError

  // All, so that no request fails for another reason.
  var capabilities: TransportCapabilities { TransportCapabilities(rawValue: .max) }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    events.ended(ExchangeEnd(failure: failure, wasSent: false))
    return Nothing()
  }

  private final class Nothing: ExchangeControl {
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .connecting }
  }
}
