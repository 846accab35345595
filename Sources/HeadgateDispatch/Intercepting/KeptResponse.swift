import HTTPTypes
import HeadgateThreads

/// A response or failure that is withheld from the sink until interceptors have reviewed it. Acts as the exchange
/// while it is delivered.
final class KeptResponse: ExchangeControl {
  // The same amount that a stream buffers for its reader.
  private static let mostBytes = Backlog.bytes.high

  struct Rest {
    var body: [UInt8] = []
    var isCut = false
    var trailers: HTTPFields?
  }

  /// What the interceptors review.
  let response: InterceptedResponse
  /// The indices of the interceptors that asked to review it, in the order of review.
  let reviewers: [Int]
  private let state = Locked(Rest())

  init(_ response: InterceptedResponse, _ reviewers: [Int]) {
    self.response = response
    self.reviewers = reviewers
  }

  /// Keeps a part of the response after its head. Aborts the transfer beyond a quarter of a megabyte.
  func add(_ part: OperationState.Delivery) -> BodyFlow {
    state.withLock { rest in
      switch part {
      case .bytes(let bytes) where !rest.isCut && bytes.count <= Self.mostBytes - rest.body.count:
        rest.body.append(contentsOf: bytes)
      case .bytes:
        // It can't be delivered any more.
        rest.body = []
        rest.isCut = true
        return .abort
      case .trailers(let fields): rest.trailers = fields
      case .head: break
      }
      return .more
    }
  }

  /// The number of bytes kept.
  var count: Int { state.withLock { $0.body.count } }

  /// What was kept.
  var rest: Rest { state.withLock { $0 } }

  /// The error to deliver if the body was too large to keep.
  var fault: DispatchError? {
    guard rest.isCut else { return nil }
    return DispatchError(
      .bodyTooLarge, phase: .receiving,
      detail: "at most \(Self.mostBytes) bytes are kept while an interceptor reviews a response")
  }

  // MARK: ExchangeControl

  func cancel() {}
  func resume() {}
  var phase: DispatchError.Phase { .receiving }
}
