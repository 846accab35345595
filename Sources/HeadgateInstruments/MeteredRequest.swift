import CoreMetrics
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Reports one request to the metrics.
// Unchecked: a request's calls come one at a time, ordered by the dispatcher's lock, and nothing else uses the variables.
final class MeteredRequest: RequestObserver, @unchecked Sendable {
  private let metrics: MetricsObserver
  private let submitted: Deadline
  private var method: HTTPRequest.Method
  private var waits: (place: MetricsObserver.Place, since: Deadline)?
  private var runs: MetricsObserver.Place?

  init(_ metrics: MetricsObserver, _ start: RequestStart) {
    self.metrics = metrics
    submitted = start.at
    method = start.request.method
  }

  func waitingStarted(_ start: WaitingStart) {
    waits = (metrics.place(start.endPoint, method), start.at)
    metrics.queueLengths[metrics.place(start.endPoint, nil)].increment()
  }

  func waitingEnded(_ end: SpanEnd) {
    guard let (place, since) = waits.take() else { return }
    metrics.queueLengths[MetricsObserver.Place(endPoint: place.endPoint)].decrement()
    let wait = MetricsObserver.Wait(place: place, reason: end.waitReason?.kind.description)
    metrics.queueTimes[wait].recordNanoseconds(end.at.nanoseconds(since: since))
  }

  func exchangeStarted(_ start: ExchangeStart) {
    method = start.request.method
    let place = metrics.place(start.request.endPoint, method)
    runs = place
    metrics.limits[MetricsObserver.Place(endPoint: place.endPoint)].set(start.limit)
    metrics.active[place].increment()
  }

  func exchangeEnded(_ report: ExchangeReport) {
    if let place = runs.take() { metrics.active[place].decrement() }
  }

  func requestEnded(_ report: RequestReport) {
    let place = metrics.place(report.request.endPoint, report.request.method)
    let outcome = MetricsObserver.Outcome(
      place: place, status: HTTPAttributes.status(report.statusCode),
      error: HTTPAttributes.errorType(report.error, status: report.statusCode))
    metrics.durations[outcome].recordNanoseconds(report.at.nanoseconds(since: submitted))
    for (kind, duration) in report.times.waited.all {
      metrics.waits[MetricsObserver.Cause(place: place, kind: kind)].recordNanoseconds(duration.wholeNanoseconds)
    }
    switch report.error?.code {
    case .refused, .longLaneFull: metrics.refusals[outcome].increment()
    case .displaced: metrics.displaced[outcome].increment()
    default: break
    }
  }
}
