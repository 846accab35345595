import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Tracing

/// Records one request as spans.
// Unchecked: a request's calls come one at a time, ordered by the dispatcher's lock, and nothing else uses the variables.
final class TracedRequest: RequestObserver, @unchecked Sendable {
  private let tracer: any Tracer
  private let span: any Span
  private let clock: WallClock
  private let shownQueryNames: Set<String>
  private var child: (any Span)?

  var context: ServiceContext { span.context }

  init(_ tracer: any Tracer, _ start: RequestStart, _ shownQueryNames: Set<String>) {
    self.tracer = tracer
    self.shownQueryNames = shownQueryNames
    clock = WallClock(at: start.at)
    let request = start.request
    let method = HTTPAttributes.method(request.method)
    span = tracer.startSpan(
      method == "_OTHER" ? "HTTP" : method, context: ServiceContext.current ?? .topLevel, ofKind: .client,
      at: clock.instant(of: start.at))
    span.updateAttributes { attributes in
      attributes["http.request.method"] = method
      if method == "_OTHER" { attributes["http.request.method_original"] = request.method.rawValue }
      describe(request, in: &attributes)
    }
  }

  private func describe(_ request: ObservedRequest, in attributes: inout SpanAttributes) {
    attributes["server.address"] = request.endPoint.host
    attributes["server.port"] = request.endPoint.port
    attributes["url.full"] = request.url(showing: shownQueryNames)
  }

  // MARK: Waiting and backing off

  func waitingStarted(_ start: WaitingStart) {
    begin("waiting", at: start.at) { attributes in
      attributes["server.address"] = start.endPoint.host
      attributes["server.port"] = start.endPoint.port
      attributes["headgate.waiting.reason"] = start.reason.description
    }
  }

  func waitingEnded(_ end: SpanEnd) { finish(end.error, nil, at: end.at) }
  func backoffStarted(_ start: BackoffStart) { begin("backoff", at: start.at) { _ in } }
  func backoffEnded(_ end: SpanEnd) { finish(end.error, nil, at: end.at) }

  func interceptingStarted(_ start: InterceptingStart) {
    begin("intercepting", at: start.at) { attributes in
      attributes["headgate.intercepting.reason"] = start.reason.description
    }
  }

  func interceptingEnded(_ end: SpanEnd) { finish(end.error, nil, at: end.at) }

  // MARK: Exchanges

  func exchangeStarted(_ start: ExchangeStart) {
    begin("exchange", at: start.at) { attributes in
      attributes["http.request.method"] = HTTPAttributes.method(start.request.method)
      describe(start.request, in: &attributes)
      if start.resends > 0 { attributes["http.request.resend_count"] = start.resends }
    }
  }

  func awaitingHeadEnded(_ end: SpanEnd) {
    guard end.error == nil else { return }
    child?.addEvent(SpanEvent(name: "head", at: clock.instant(of: end.at)))
  }

  func exchangeEnded(_ report: ExchangeReport) {
    child?.updateAttributes { attributes in
      if let status = report.statusCode { attributes["http.response.status_code"] = status }
      let measured = [("name", report.times.name), ("connect", report.times.connect), ("tls", report.times.tls)]
      for (part, time) in measured where time > .zero {
        attributes["headgate.exchange.\(part)"] = time.inSeconds
      }
    }
    finish(report.error, report.statusCode, at: report.at)
  }

  // MARK: The end

  func requestEnded(_ report: RequestReport) {
    let resends = report.exchanges - 1
    span.updateAttributes { attributes in
      if let status = report.statusCode { attributes["http.response.status_code"] = status }
      if resends > 0 { attributes["http.request.resend_count"] = resends }
    }
    conclude(span, report.error, report.statusCode)
    span.end(at: clock.instant(of: report.at))
  }

  private func begin(_ name: String, at moment: Deadline, _ attributes: (inout SpanAttributes) -> Void) {
    let span = tracer.startSpan(name, context: context, ofKind: .internal, at: clock.instant(of: moment))
    span.updateAttributes(attributes)
    child = span
  }

  private func finish(_ error: DispatchError?, _ status: Int?, at moment: Deadline) {
    guard let span = child.take() else { return }
    conclude(span, error, status)
    span.end(at: clock.instant(of: moment))
  }

  /// Sets the span's status. The error itself is not recorded, because its detail may contain parts of a URL.
  private func conclude(_ span: any Span, _ error: DispatchError?, _ status: Int?) {
    guard let type = HTTPAttributes.errorType(error, status: status) else { return }
    span.updateAttributes { $0["error.type"] = type }
    // For a status no message is needed.
    span.setStatus(SpanStatus(code: .error, message: error.map { "\($0.code), \($0.phase)" }))
  }
}

/// Converts monotonic times to wall-clock times. The offset is read once for each request, so that setting the system
/// clock does not distort its spans.
private struct WallClock {
  private let moment: Deadline
  private let time: UInt64

  init(at moment: Deadline) {
    self.moment = moment
    time = DefaultTracerClock.now.nanosecondsSinceEpoch
  }

  func instant(of moment: Deadline) -> WallInstant {
    WallInstant(nanosecondsSinceEpoch: time &+ UInt64(bitPattern: moment.nanoseconds(since: self.moment)))
  }
}

private struct WallInstant: TracerInstant {
  let nanosecondsSinceEpoch: UInt64

  static func < (left: WallInstant, right: WallInstant) -> Bool {
    left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
  }
}
