import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Tracing

/// Makes a span of each of a dispatcher's requests, for swift-distributed-tracing, by OpenTelemetry's names and rules.
///
///     InstrumentationSystem.bootstrap(tracer)
///     let dispatcher = try URLDispatcher(observers: [TracingObserver()])
///
/// ```
/// GET            client    the request, under the span of the task that submits it
/// |-- waiting    internal  for a permit
/// |-- exchange   internal  each time that it is sent: connecting, request, response
/// |-- resting    internal  before another attempt
/// |-- intercepting internal while interceptors prepare it, or look at a response
/// `-- exchange
/// ```
///
/// The context of the request's span is injected into its header fields, once, by the tracer (`traceparent` for one that
/// speaks W3C); it goes along at redirects and retries. The span is an error when the request is, and when its status is
/// 400 or more; then `error.type` is the error's code or the status. `http.request.resend_count` says how often the
/// request was sent again. The seconds until the name was known, the connection stood and TLS was ready are
/// `headgate.exchange.name`, `.connect` and `.tls` of the exchange, each counted from its start.
///
/// `url.full` has no user information, and `REDACTED` for each value in its query but those that are named at the making.
/// Secrets in a URL's path can't be told from what is none.
public struct TracingObserver: DispatchObserver {
  private let tracer: (any Tracer)?
  private let shownQueryNames: Set<String>

  /// An observer for any number of dispatchers.
  ///
  /// - Parameters:
  ///   - tracer: Who makes the spans and injects their context. Nil: the tracer in force where a request is submitted.
  ///   - shownQueryNames: The parameters whose values may be seen in `url.full`.
  public init(tracer: (any Tracer)? = nil, shownQueryNames: Set<String> = []) {
    self.tracer = tracer
    self.shownQueryNames = shownQueryNames
  }

  /// Starts the span, and puts its context into the request.
  public func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    let tracer = tracer ?? InstrumentationSystem.tracer
    let request = TracedRequest(tracer, start, shownQueryNames)
    inject(request.context, tracer, into: &start)
    return request
  }

  private func inject(_ context: ServiceContext, _ tracer: any Tracer, into start: inout RequestStart) {
    var fields: [InjectedField] = []
    if self.tracer != nil {
      tracer.inject(context, into: &fields, using: FieldInjector())
    } else {
      // Baggage and the like may have instruments of their own beside the tracer.
      InstrumentationSystem.instrument.inject(context, into: &fields, using: FieldInjector())
    }
    for field in fields {
      if let name = HTTPField.Name(field.name) { start.setHeaderField(name, to: field.value) }
    }
  }
}

private struct InjectedField: Sendable {
  let name: String
  let value: String
}

private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into carrier: inout [InjectedField]) {
    carrier.append(InjectedField(name: key, value: value))
  }
}
