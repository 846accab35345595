import CoreMetrics
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Reports a dispatcher's requests to swift-metrics, with OpenTelemetry's names.
///
///     MetricsSystem.bootstrap(backend)
///     let dispatcher = try URLDispatcher(observers: [MetricsObserver()])
///
/// | metric | kind | meaning |
/// |---|---|---|
/// | `http.client.request.duration` | timer | from submission to end, waiting included |
/// | `http.client.request.time_in_queue` | timer | each wait for a permit, including waits of zero |
/// | `headgate.client.request.waited` | timer | how long a request waited for one cause; once for each of its causes |
/// | `http.client.active_requests` | meter | requests that hold a permit and are under way |
/// | `headgate.client.queue.length` | meter | requests that wait for a permit |
/// | `headgate.client.limit` | meter | the limit for concurrent requests when the latest one started |
/// | `headgate.client.requests.refused` | counter | not sent, because the queue or the long lane was full |
/// | `headgate.client.requests.displaced` | counter | not sent, because others displaced them from a full queue |
///
/// All metrics have the attributes `server.address` and `server.port`; those of requests also `http.request.method`.
/// The duration has `http.response.status_code`, if there was a response, and `error.type` after an error (the code
/// of the `DispatchError`, or a status of 400 and more). Refusals have `error.type`. A redirected request counts at
/// the end-point of each exchange and each wait; its duration counts at the last one. The time in the queue has
/// `headgate.wait.reason` if the request had to wait: the kind of its `WaitReason` at that moment. The time waited has
/// `cause`, one of the kinds of `WaitReason`, and counts at the end-point of the last exchange.
///
/// The attributes are bounded: they contain no URL, path or tag; unknown methods are `_OTHER`; and all end-points
/// beyond the first `maxEndPoints` are `_OTHER`, without a port, for the lifetime of the observer.
public final class MetricsObserver: DispatchObserver {
  struct Place: Hashable, Sendable {
    let endPoint: EndPointNames.Name
    var method: String?

    var attributes: [(String, String)] { (method.map { [("http.request.method", $0)] } ?? []) + endPoint.attributes }
  }

  struct Wait: Hashable, Sendable {
    let place: Place
    let reason: String?

    var attributes: [(String, String)] { place.attributes + (reason.map { [("headgate.wait.reason", $0)] } ?? []) }
  }

  struct Cause: Hashable, Sendable {
    let place: Place
    let kind: WaitReason.Kind

    var attributes: [(String, String)] { place.attributes + [("cause", kind.description)] }
  }

  struct Outcome: Hashable, Sendable {
    let place: Place
    let status: Int?
    let error: String?

    var attributes: [(String, String)] {
      place.attributes + (status.map { [("http.response.status_code", "\($0)")] } ?? [])
        + (error.map { [("error.type", $0)] } ?? [])
    }
  }

  let names: EndPointNames
  let durations: InstrumentCache<Outcome, CoreMetrics.Timer>
  let queueTimes: InstrumentCache<Wait, CoreMetrics.Timer>
  let waits: InstrumentCache<Cause, CoreMetrics.Timer>
  let active: InstrumentCache<Place, Meter>
  let queueLengths: InstrumentCache<Place, Meter>
  let limits: InstrumentCache<Place, Meter>
  let refusals: InstrumentCache<Outcome, Counter>
  let displaced: InstrumentCache<Outcome, Counter>

  /// Creates an observer for any number of dispatchers.
  ///
  /// - Parameters:
  ///   - factory: The metrics backend. Default: the one with which the process was bootstrapped.
  ///   - maxEndPoints: The maximum number of end-points to distinguish, 0 or more.
  public init(factory: any MetricsFactory = MetricsSystem.factory, maxEndPoints: Int = 200) {
    @Sendable func timer(_ label: String, _ attributes: [(String, String)]) -> CoreMetrics.Timer {
      CoreMetrics.Timer(label: label, dimensions: attributes, preferredDisplayUnit: .seconds, factory: factory)
    }
    names = EndPointNames(most: maxEndPoints)
    durations = InstrumentCache { timer("http.client.request.duration", $0.attributes) }
    queueTimes = InstrumentCache { timer("http.client.request.time_in_queue", $0.attributes) }
    waits = InstrumentCache { timer("headgate.client.request.waited", $0.attributes) }
    active = InstrumentCache {
      Meter(label: "http.client.active_requests", dimensions: $0.attributes, factory: factory)
    }
    queueLengths = InstrumentCache {
      Meter(label: "headgate.client.queue.length", dimensions: $0.attributes, factory: factory)
    }
    limits = InstrumentCache { Meter(label: "headgate.client.limit", dimensions: $0.attributes, factory: factory) }
    refusals = InstrumentCache {
      Counter(label: "headgate.client.requests.refused", dimensions: $0.attributes, factory: factory)
    }
    displaced = InstrumentCache {
      Counter(label: "headgate.client.requests.displaced", dimensions: $0.attributes, factory: factory)
    }
  }

  /// Starts the metrics of a request.
  public func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    MeteredRequest(self, start)
  }

  func place(_ endPoint: EndPoint, _ method: HTTPRequest.Method?) -> Place {
    Place(endPoint: names.name(of: endPoint), method: method.map { HTTPAttributes.method($0) })
  }
}
