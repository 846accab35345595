import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Logging
import Testing

/// A dispatcher with observers, over a transport and a clock that the test controls.
struct ObservedBench {
  let clock = ManualClock()
  let transport: ScriptedTransport
  let dispatcher: URLDispatcher
  let answers = LockedBox<[Result<DispatchResponse, DispatchError>]>([])

  init(
    requests: Int = 2, waiting: Int = 100, overflow: OverflowPolicy = .refuse,
    transport: ScriptedTransport = ScriptedTransport(), _ observer: any DispatchObserver
  ) throws {
    self.transport = transport
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: requests), waiting: waiting, overflow: overflow)
    let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    dispatcher = URLDispatcher(
      transport: transport, limits: limits, timers: clock, logger: silent, observers: [observer])
  }

  @discardableResult
  func send(
    _ url: String, _ method: HTTPRequest.Method = .get, _ change: (inout DispatchRequest) -> Void = { _ in }
  ) throws -> URLDispatchOperation {
    var request = try DispatchRequest(url, method: method)
    change(&request)
    return dispatcher.dispatch(request) { [answers] result in answers.withLock { $0.append(result) } }
  }

  func exchange() throws -> ScriptedExchange { try #require(transport.takeStarted()) }
}
