import HeadgateDispatch
import HeadgateThreads
import Logging
import Measure
import Synchronization

/// What a program may have in use beside its requests: an observer, the log's source, and for each request a deadline and
/// a priority. All of it is as cheap as the program's side can be, so what is measured is Headgate's.
public final class Extras: Sendable {
  private static let priorities: [RequestPriority] = [.background, .low, .normal, .high, .urgent]

  private let isOn: Bool
  private let counter = CountingObserver()

  /// Turns the source on, or off. Before the first one lines have to be dropped: see ``dropLines()``.
  public init(on isOn: Bool) {
    self.isOn = isOn
    if isOn { HeadgateLog.enable(.dispatcher) } else { HeadgateLog.disableAll() }
  }

  /// Has swift-log drop every line. Once in a process.
  public static func dropLines() { LoggingSystem.bootstrap { _ in DroppingHandler() } }

  /// For the dispatcher.
  public var observers: [any DispatchObserver] { isOn ? [counter] : [] }

  /// A request with what is in use; `number` gives it one of the priorities.
  public func request(_ url: String, _ number: Int) throws -> DispatchRequest {
    var request = try DispatchRequest(url)
    guard isOn else { return request }
    request.deadline = .seconds(3600)
    request.priority = Self.priorities[number % Self.priorities.count]
    return request
  }

  /// Ends the process with 2 unless so many requests have ended for the observer.
  public func check(_ count: Int) {
    let heard = counter.ended
    guard !isOn || heard == count else { complain("the observer has heard of \(heard), not of \(count)") }
  }
}

/// Takes every line, and drops it.
private struct DroppingHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {}
}

/// Hears of every request, and counts those that end.
private final class CountingObserver: DispatchObserver, RequestObserver {
  private let counted = Atomic<Int>(0)

  var ended: Int { counted.load(ordering: .relaxed) }

  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }
  func requestEnded(_ report: RequestReport) { counted.add(1, ordering: .relaxed) }
}
