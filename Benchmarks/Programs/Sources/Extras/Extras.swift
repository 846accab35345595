import HeadgateDispatch
import HeadgateThreads
import Logging
import Measure
import Synchronization

/// Features that a program may use in addition: an observer, the log source, and for each request a deadline and a
/// priority. The program's side of each is as cheap as possible, so that Headgate's side is measured.
public final class Extras: Sendable {
  private static let priorities: [RequestPriority] = [.background, .low, .normal, .high, .urgent]

  private let isOn: Bool
  private let counter = CountingObserver()

  /// Turns the source on, or off. Call ``dropLines()`` before the first use.
  public init(on isOn: Bool) {
    self.isOn = isOn
    if isOn { HeadgateLog.enable(.dispatcher) } else { HeadgateLog.disableAll() }
  }

  /// Makes swift-log drop every line. Call it once in a process.
  public static func dropLines() { LoggingSystem.bootstrap { _ in DroppingHandler() } }

  /// The observers for the dispatcher.
  public var observers: [any DispatchObserver] { isOn ? [counter] : [] }

  /// A request with these features; `number` determines its priority.
  public func request(_ url: String, _ number: Int) throws -> DispatchRequest {
    var request = try DispatchRequest(url)
    guard isOn else { return request }
    request.deadline = .seconds(3600)
    request.priority = Self.priorities[number % Self.priorities.count]
    return request
  }

  /// Exits with status 2 unless the observer has seen this many requests end.
  public func check(_ count: Int) {
    let heard = counter.ended
    guard !isOn || heard == count else { complain("the observer has heard of \(heard), not of \(count)") }
  }
}

/// Drops every line.
private struct DroppingHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {}
}

/// Observes every request, and counts those that end.
private final class CountingObserver: DispatchObserver, RequestObserver {
  private let counted = Atomic<Int>(0)

  var ended: Int { counted.load(ordering: .relaxed) }

  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }
  func requestEnded(_ report: RequestReport) { counted.add(1, ordering: .relaxed) }
}
