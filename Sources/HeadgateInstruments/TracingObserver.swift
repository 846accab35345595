import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Tracing

/// Creates a span for each request of a dispatcher, for swift-distributed-tracing, with OpenTelemetry's names and
/// rules.
///
///     InstrumentationSystem.bootstrap(tracer)
///     let dispatcher = try URLDispatcher(observers: [TracingObserver()])
///
/// ```
/// GET            client    the request, under the span of the task that submits it
/// |-- waiting    internal  for a permit
/// |-- exchange   internal  each time that it is sent: connecting, request, response
/// |-- backoff    internal  before another attempt
/// |-- intercepting internal while interceptors prepare it, or review a response
/// `-- exchange
/// ```
///
/// The tracer injects the context of the request's span into its header fields, once (as `traceparent` for a W3C
/// tracer); redirects and retries keep it. The span has an error status if the request fails or its status is 400 or
/// more; then `error.type` is the error's code or the status. `http.request.resend_count` is the number of times that
/// the request was sent again. An exchange has the attributes `headgate.exchange.name`, `.connect` and `.tls`: the
/// seconds from its start until the name was resolved, the connection was established, and TLS was ready.
///
/// `url.full` contains no user information, and `REDACTED` for query values except those of `shownQueryNames`. Paths
/// are not redacted.
public struct TracingObserver: DispatchObserver {
  private let tracer: (any Tracer)?
  private let shownQueryNames: Set<String>

  /// Creates an observer for any number of dispatchers.
  ///
  /// - Parameters:
  ///   - tracer: Creates the spans and injects their context. Nil: the tracer in effect where a request is submitted.
  ///   - shownQueryNames: The query parameters whose values are shown in `url.full`.
  public init(tracer: (any Tracer)? = nil, shownQueryNames: Set<String> = []) {
    self.tracer = tracer
    self.shownQueryNames = shownQueryNames
  }

  /// Starts the span and injects its context into the request.
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
      // Other instruments, such as those for baggage, may be installed beside the tracer.
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
