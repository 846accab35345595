import HeadgateDispatch
import HeadgateThreads

/// Observes a run for its log: when each URL was submitted and sent, and which end-points paused.
///
/// The tag of a request identifies its URL. Entries are removed with their records, so memory depends on the requests
/// in progress and not on the length of the list.
final class RunTimeline: DispatchObserver {
  private struct State {
    var urls: [String: URLTimeline] = [:]
    var pauses: [URLTimeline.Pause] = []
  }

  private let began: Deadline
  private let state = Locked(State())

  init(began: Deadline) { self.began = began }

  /// The tag of the requests for the URL with this index.
  static func tag(_ index: Int) -> String { String(index) }

  /// Removes and returns the timeline of a URL that has ended, with the pauses that no record has yet.
  func take(_ index: Int?) -> URLTimeline {
    state.withLock { state in
      var timeline = index.flatMap { state.urls.removeValue(forKey: Self.tag($0)) } ?? URLTimeline()
      timeline.pauses = state.pauses
      state.pauses = []
      return timeline
    }
  }

  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    guard let tag = start.request.tag else { return nil }
    let moment = seconds(start.at)
    // A retry after a cut body is another request for the same URL.
    state.withLock { state in
      if state.urls[tag]?.start == nil { state.urls[tag, default: URLTimeline()].start = moment }
    }
    return Observer(run: self, tag: tag)
  }

  func endPointPaused(_ pause: EndPointPause) {
    let end = pause.reason.until ?? pause.at
    let pause = URLTimeline.Pause(
      endPoint: pause.endPoint, at: seconds(pause.at), until: seconds(end), reason: "\(pause.reason)")
    state.withLock { $0.pauses.append(pause) }
  }

  private func ended(_ report: ExchangeReport, _ tag: String) {
    let exchange = URLTimeline.Exchange(
      endPoint: report.start.request.endPoint, start: seconds(report.start.at), end: seconds(report.at),
      status: report.statusCode, error: report.error?.codeName, limit: report.start.limit)
    state.withLock { $0.urls[tag]?.exchanges.append(exchange) }
  }

  private func seconds(_ moment: Deadline) -> Double { (moment - began).inSeconds }

  private final class Observer: RequestObserver {
    private let run: RunTimeline
    private let tag: String

    init(run: RunTimeline, tag: String) {
      self.run = run
      self.tag = tag
    }

    func exchangeEnded(_ report: ExchangeReport) { run.ended(report, tag) }
  }
}
