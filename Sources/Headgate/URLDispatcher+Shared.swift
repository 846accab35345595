import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import HeadgateURLSession
#else
import HeadgateCurl
#endif

/// What carries requests unless a program says otherwise: URLSession on Apple's systems, libcurl elsewhere.
private func platformTransport() throws(DispatchError) -> any Transport {
  #if canImport(Darwin)
  URLSessionTransport()
  #else
  try CurlTransport()
  #endif
}

extension URLDispatcher {
  /// The dispatcher of the process, over the platform's transport with standard limits.
  ///
  /// Made at its first use. After ``disposeShared()`` the next use makes a fresh one, with standard limits; both go through
  /// one gate, so that what the old one still closes counts with what the new one opens. If the system has no thread or
  /// descriptor left to give, a dispatcher is returned whose every request fails with that error, and the next use
  /// tries again.
  public static var shared: URLDispatcher {
    // What standard limits let start is started with no lock held.
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

  /// Ends the shared dispatcher, if there is one: what waits and what runs fails with `shutDown`, and so does what waits for
  /// a bare permit of its gate.
  public static func disposeShared() {
    let (disposed, permits) = sharedDispatcher.withLock { shared in
      // Those of the next one, which may be made from here on, are not among them.
      (shared.take(), sharedGate.permitRequests)
    }
    guard let disposed else { return }
    disposed.dispose()
    for permit in permits { permit.asked(toEndBecause: DispatchError(.shutDown)) }
  }

  /// A dispatcher over the platform's transport.
  ///
  /// - Parameters:
  ///   - limits: How many requests at once, for each end-point and in all; how many may wait.
  ///   - observers: Who hears of its requests, such as the metrics and traces of `HeadgateInstruments`.
  ///   - interceptors: Who changes its requests before they start, such as `BearerTokens`.
  ///   - maxBodyMemory: How many bytes the bodies that are gathered in memory may have together; see
  ///     `standardBodyMemory`.
  /// - Throws: `DispatchError` with `transportFailed` when the system has no thread or descriptor to give.
  public convenience init(
    limits: GateLimits = .standard, observers: [any DispatchObserver] = [],
    interceptors: [any RequestInterceptor] = [], maxBodyMemory: Int = URLDispatcher.standardBodyMemory
  ) throws(DispatchError) {
    self.init(
      transport: try platformTransport(), limits: limits, observers: observers, interceptors: interceptors,
      maxBodyMemory: maxBodyMemory)
  }
}

private let sharedDispatcher = Locked<URLDispatcher?>(nil)

// The gate of every shared dispatcher, one after another.
private let sharedGate = EndPointGate()

/// Stands in for a transport that could not be made.
private struct FailingTransport: Transport {
  let failure: DispatchError

  // All: a request is not to be refused for another reason.
  var capabilities: TransportCapabilities { TransportCapabilities(rawValue: .max) }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    events.ended(ExchangeEnd(failure: failure))
    return Nothing()
  }

  private final class Nothing: ExchangeControl {
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .connecting }
  }
}
