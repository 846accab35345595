import CoreMetrics
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Tells swift-metrics what a dispatcher's requests do, by OpenTelemetry's names.
///
///     MetricsSystem.bootstrap(backend)
///     let dispatcher = try URLDispatcher(observers: [MetricsObserver()])
///
/// | metric | kind | what |
/// |---|---|---|
/// | `http.client.request.duration` | timer | from the submission to the end, waiting included |
/// | `http.client.request.time_in_queue` | timer | each wait for a permit, those of no time at all too |
/// | `http.client.active_requests` | meter | requests that hold a permit and are under way |
/// | `headgate.client.queue.length` | meter | requests that wait for a permit |
/// | `headgate.client.limit` | meter | how many requests at once the limit allows, as of the last that was started |
/// | `headgate.client.requests.refused` | counter | ended unsent, because too many waited or the long lane was full |
/// | `headgate.client.requests.shed` | counter | ended unsent, because they gave way to others |
///
/// All carry `server.address` and `server.port`, those of requests also `http.request.method`; the duration carries
/// `http.response.status_code` where there was one and `error.type` where something went wrong (the code of the
/// `DispatchError`, or the status from 400 on), and the refusals `error.type`. A request that was
/// redirected counts where each exchange and each wait was, and in its duration where it ended.
///
/// What these can be is bounded: no URL, path or tag is among them; unknown methods are `_OTHER`; and beyond
/// `maxEndPoints` all further end-points are `_OTHER` together, without a port, for as long as the observer lives.
public final class MetricsObserver: DispatchObserver {
  struct Place: Hashable, Sendable {
    let endPoint: EndPointNames.Name
    var method: String?

    var attributes: [(String, String)] { (method.map { [("http.request.method", $0)] } ?? []) + endPoint.attributes }
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
  let queueTimes: InstrumentCache<Place, CoreMetrics.Timer>
  let active: InstrumentCache<Place, Meter>
  let queueLengths: InstrumentCache<Place, Meter>
  let limits: InstrumentCache<Place, Meter>
  let refusals: InstrumentCache<Outcome, Counter>
  let shed: InstrumentCache<Outcome, Counter>

  /// An observer for any number of dispatchers.
  ///
  /// - Parameters:
  ///   - factory: The metrics' back-end; the one that the process was set up with unless given.
  ///   - maxEndPoints: How many end-points are told apart, 0 or more: the first so many.
  public init(factory: any MetricsFactory = MetricsSystem.factory, maxEndPoints: Int = 200) {
    @Sendable func timer(_ label: String, _ attributes: [(String, String)]) -> CoreMetrics.Timer {
      CoreMetrics.Timer(label: label, dimensions: attributes, preferredDisplayUnit: .seconds, factory: factory)
    }
    names = EndPointNames(most: maxEndPoints)
    durations = InstrumentCache { timer("http.client.request.duration", $0.attributes) }
    queueTimes = InstrumentCache { timer("http.client.request.time_in_queue", $0.attributes) }
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
    shed = InstrumentCache {
      Counter(label: "headgate.client.requests.shed", dimensions: $0.attributes, factory: factory)
    }
  }

  /// Hears of every request.
  public func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    MeteredRequest(self, start)
  }

  func place(_ endPoint: EndPoint, _ method: HTTPRequest.Method?) -> Place {
    Place(endPoint: names.name(of: endPoint), method: method.map { HTTPAttributes.method($0) })
  }
}
