import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads

/// The workload over a dispatcher: with a suitable limit, or with one so high that it has no effect.
enum HeadgateClient {
  /// With a limit as high as the number of requests.
  static let allAtOnce = DemoClient(
    name: "all at once", explanation: "Each end-point answers 4 connections; all others wait in vain."
  ) { try await run($0, GateLimits(endPoint: EndPointLimits(requests: 1000), total: 1000)) }

  /// Four requests at a time at an end-point, two of which may be streams.
  static let limited = DemoClient(
    name: "Headgate",
    explanation: "Never more than 4, and a request's timeout begins when the request is sent: all are served."
  ) { try await run($0, GateLimits(endPoint: .classic, total: 100)) }

  private static func run(_ workload: DemoWorkload, _ limits: GateLimits) async throws -> DemoOutcome {
    // The server belongs to the demo and is on this machine.
    var configuration = CurlTransport.Configuration()
    configuration.proxy = .none
    let dispatcher = URLDispatcher(transport: try CurlTransport(configuration: configuration), limits: limits)
    let outcome = await withTaskGroup { group in
      for url in workload.streams {
        group.addTask { await result { try await stream(url, dispatcher) } }
      }
      for url in workload.short {
        group.addTask { await result { _ = try await dispatcher.data(for: request(url)) } }
      }
      return await group.reduce(into: DemoOutcome()) { $0.add($1) }
    }
    // Its connections are closed when this returns.
    await dispatcher.shutDown()
    return outcome
  }

  private static func request(_ url: String) throws(DispatchError) -> DispatchRequest {
    var request = try DispatchRequest(url)
    request.timeout = DemoWorkload.timeout
    return request
  }

  private static func stream(_ url: String, _ dispatcher: URLDispatcher) async throws {
    let response = try await dispatcher.stream(for: request(url), lane: .long)
    for try await _ in response.body {}
  }

  private static func result(_ body: () async throws -> Void) async -> DispatchError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? DispatchError)?.code ?? .transportFailed
    }
  }
}

extension DemoOutcome {
  fileprivate mutating func add(_ failure: DispatchError.Code?) {
    switch failure {
    case nil: succeeded += 1
    case .timedOut: timedOut += 1
    default: failed += 1
    }
  }
}
