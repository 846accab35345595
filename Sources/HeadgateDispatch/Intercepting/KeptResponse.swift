import HTTPTypes
import HeadgateThreads

/// A response, or a failure, that is told to nobody before interceptors have looked at it. Stands in for the exchange while
/// it is told.
final class KeptResponse: ExchangeControl {
  // As much as waits for the reader of a stream.
  private static let mostBytes = StreamingSink.highWater

  private struct Rest {
    var body: [UInt8] = []
    var isCut = false
    var trailers: HTTPFields?
  }

  /// What they look at.
  let response: InterceptedResponse
  /// Who wants to, by their places, in the order in which they do.
  let reviewers: [Int]
  private let rest = Locked(Rest())

  init(_ response: InterceptedResponse, _ reviewers: [Int]) {
    self.response = response
    self.reviewers = reviewers
  }

  /// Keeps a piece of the body. Beyond a quarter of a megabyte the rest is not wanted.
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

  /// What is wrong with it, where it was not kept whole.
  var fault: DispatchError? {
    guard rest.withLock({ $0.isCut }) else { return nil }
    return DispatchError(
      .bodyTooLarge, phase: .receiving,
      detail: "an interceptor looked at the response, of which no more than \(Self.mostBytes) bytes are kept meanwhile")
  }

  // MARK: As an exchange

  func cancel() {}
  func resume() {}
  var phase: DispatchError.Phase { .receiving }
}
