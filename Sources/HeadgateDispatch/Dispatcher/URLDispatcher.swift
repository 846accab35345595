import HTTPTypes
import HeadgateThreads

/// Dispatches any number of URL requests and never has more under way than an end-point tolerates.
///
/// The excess waits in the dispatcher's own queue, where nothing times out; short requests find a permit beside long
/// ones; a cancel takes effect at once.
///
///     let response = try await URLDispatcher.shared.data(for: "https://example.com/")
///
/// One dispatcher for a process is what most programs want: two of them know nothing of each other, and their limits
/// add up at the server. All calls are safe from any thread.
public final class URLDispatcher: Sendable {
  /// The gate that every request goes through. Bare permits for other work come from here too.
  public let gate: EndPointGate

  let core: DispatchCore

  /// A dispatcher over a transport.
  ///
  /// - Parameters:
  ///   - transport: What carries the requests. It belongs to this dispatcher, which shuts it down at its end.
  ///   - limits: How many requests at once, for each end-point and in all; how many may wait.
  ///   - timers: The clock that limits on time follow.
  public init(
    transport: any Transport, limits: GateLimits = .standard, timers: any TimerService = TimerThread.shared
  ) {
    gate = EndPointGate(limits: limits, timers: timers)
    core = DispatchCore(gate, transport)
    let ledger = core.ledger
    gate.whenDrained { transport.shutDown { ledger.leave() } }
  }

  /// A dispatcher that is let go finishes what it has accepted, then closes its connections.
  deinit { gate.close(.draining) }

  /// The limits in force; see ``EndPointGate/limits``. Idle connections beyond a lower limit are closed.
  public var limits: GateLimits {
    get { gate.limits }
    set {
      gate.limits = newValue
      core.transport.limitsChanged(to: newValue)
    }
  }

  /// Holds an end-point to a limit of its own from now on; nil gives it the common one again. Idle connections beyond
  /// it are closed.
  public func setLimits(_ limits: EndPointLimits?, for endPoint: EndPoint) {
    gate.setLimits(limits, for: endPoint)
    core.transport.limitsChanged(to: gate.limits)
  }

  func makeOperation(
    _ request: DispatchRequest, _ requestClass: RequestClass, _ sink: any ResponseSink
  ) -> DispatchOperation {
    DispatchOperation(request, requestClass, core, sink)
  }

  // MARK: The end

  /// Ends the dispatcher, and returns once nothing runs or waits, every caller was told and the connections are closed. What is
  /// submitted from now on fails with `shutDown`. A second call may go further than the first.
  public func shutDown(_ mode: ShutdownMode = .drain) async {
    gate.close(mode.closing)
    await core.ledger.settled.wait()
  }

  /// Begins a shutdown and returns at once: from here on nothing starts that the mode would not let start.
  package func beginShutDown(_ mode: ShutdownMode) { gate.close(mode.closing) }

  /// Ends the dispatcher at once and returns: what waits and what runs fails with `shutDown`.
  public func dispose() { gate.close(.aborting) }

  /// Runs `body` with a dispatcher that ends with it: after a return everything that was accepted is finished, after an
  /// error it is cancelled.
  public static func with<Value: Sendable>(
    transport: any Transport, limits: GateLimits = .standard,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (URLDispatcher) async throws -> Value
  ) async throws -> Value {
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    do {
      let value = try await body(dispatcher)
      await dispatcher.shutDown(.drain)
      return value
    } catch {
      await dispatcher.shutDown(.now)
      throw error
    }
  }
}

/// How a dispatcher ends.
public struct ShutdownMode: Sendable, Hashable {
  let closing: Scheduler<any GateClient>.Closing

  /// Takes nothing new; finishes all that runs or waits.
  public static let drain = ShutdownMode(closing: .draining)
  /// Finishes what runs; what waits fails with `shutDown`.
  public static let graceful = ShutdownMode(closing: .ending)
  /// What runs and what waits fails with `shutDown`.
  public static let now = ShutdownMode(closing: .aborting)
}
