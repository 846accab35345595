import HTTPTypes
import HeadgateThreads

/// A response or failure that is withheld from the sink until interceptors have reviewed it. Acts as the exchange
/// while it is delivered.
final class KeptResponse: ExchangeControl {
  // The same amount that a stream buffers for its reader.
  private static let mostBytes = StreamingSink.highWater

  private struct Rest {
    var body: [UInt8] = []
    var isCut = false
    var trailers: HTTPFields?
  }

  /// What the interceptors review.
  let response: InterceptedResponse
  /// The indices of the interceptors that asked to review it, in the order of review.
  let reviewers: [Int]
  private let rest = Locked(Rest())

  init(_ response: InterceptedResponse, _ reviewers: [Int]) {
    self.response = response
    self.reviewers = reviewers
  }

  /// Keeps a piece of the body. Aborts the transfer beyond a quarter of a megabyte.
  func add(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    rest.withLock { rest in
      guard !rest.isCut, bytes.count <= Self.mostBytes - rest.body.count else {
        rest.isCut = true
        return .abort
      }
      rest.body.append(contentsOf: bytes)
      return .more
    }
  }

  func add(_ trailers: HTTPFields) { rest.withLock { $0.trailers = trailers } }

  var body: [UInt8] { rest.withLock { $0.body } }
  var trailers: HTTPFields? { rest.withLock { $0.trailers } }

  /// The error to deliver if the body was too large to keep.
  var fault: DispatchError? {
    guard rest.withLock({ $0.isCut }) else { return nil }
    return DispatchError(
      .bodyTooLarge, phase: .receiving,
      detail: "at most \(Self.mostBytes) bytes are kept while an interceptor reviews a response")
  }

  // MARK: ExchangeControl

  func cancel() {}
  func resume() {}
  var phase: DispatchError.Phase { .receiving }
}
