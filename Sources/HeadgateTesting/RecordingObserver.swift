import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Keeps what a dispatcher tells of its requests, and holds each request's calls against the tree that `RequestObserver`
/// promises.
///
///     let recording = RecordingObserver()
///     let dispatcher = URLDispatcher(transport: transport, observers: [recording])
///     ...
///     await dispatcher.shutDown()
///     #expect(recording.violations.isEmpty && recording.unfinished == 0)
public final class RecordingObserver: DispatchObserver {
  private let recorded = Locked<[RecordedRequest]>([])
  private let finished = LockedBox(0)
  private let fields: [HTTPField]

  /// An observer that hears of every request.
  ///
  /// - Parameter fields: Header fields that it gives to each request.
  public init(fields: [HTTPField] = []) { self.fields = fields }

  /// Notes a request.
  public func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    for field in fields { start.setHeaderField(field.name, to: field.value) }
    let request = RecordedRequest(start) { [finished] in finished.withLock { $0 += 1 } }
    recorded.withLock { $0.append(request) }
    return request
  }

  /// The requests so far, in the order of their submission.
  public var requests: [RecordedRequest] { recorded.withLock { $0 } }

  /// Requests whose end was not told yet.
  public var unfinished: Int { recorded.withLock { $0.count } - finished.withLock { $0 } }

  /// What was told against the rules, of all requests.
  public var violations: [String] { requests.flatMap(\.violations) }
}
