import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Records the events of a dispatcher's requests, and checks them against the tree that `RequestObserver` documents.
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

  /// Creates an observer of every request.
  ///
  /// - Parameter fields: Header fields to add to each request.
  public init(fields: [HTTPField] = []) { self.fields = fields }

  /// Starts a recording.
  public func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? {
    for field in fields { start.setHeaderField(field.name, to: field.value) }
    let request = RecordedRequest(start) { [finished] in finished.withLock { $0 += 1 } }
    recorded.withLock { $0.append(request) }
    return request
  }

  /// The requests so far, in order of submission.
  public var requests: [RecordedRequest] { recorded.withLock { $0 } }

  /// The number of requests that have not ended.
  public var unfinished: Int { recorded.withLock { $0.count } - finished.withLock { $0 } }

  /// The violations of all requests.
  public var violations: [String] { requests.flatMap(\.violations) }
}
