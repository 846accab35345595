import HTTPTypes
import HeadgateThreads

/// Collects a whole response in memory, up to the request's cap, and passes it to a completion.
// Unchecked: the operation calls one method at a time, each after taking its lock, and nothing else reads these
// properties.
final class CollectingSink: ResponseSink, @unchecked Sendable {
  private let cap: Int
  // Set to nil at the end, which releases what the closure captures, possibly the operation's own handle.
  private var completion: ResponseCompletion?
  private var head = ResponseHead(statusCode: 0, block: [])
  private var url = ""
  private var body: [UInt8] = []
  private var trailers: HTTPFields?

  init(cap: Int, _ completion: @escaping ResponseCompletion) {
    self.cap = cap
    self.completion = completion
  }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    self.head = head
    self.url = url
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    guard bytes.count <= cap - body.count else {
      throw DispatchError(.bodyTooLarge, phase: .receiving, detail: "over \(cap) bytes")
    }
    // A small first piece is usually the whole body, so `Content-Length` is parsed only for larger ones.
    if body.isEmpty, bytes.count >= 8192, let declared = head.declaredLength, declared > bytes.count {
      // The server's declared length is not trusted beyond one megabyte.
      body.reserveCapacity(min(declared, cap, 1 << 20))
    }
    body.append(contentsOf: bytes)
    return isCounted ? operation.core.bodies.note(body.count, of: operation) : .more
  }

  /// Whether the body is large enough for the dispatcher's `BodyBudget`.
  private var isCounted: Bool { body.count > BodyBudget.uncounted }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  func mayStartAnew() -> Bool { true }

  func startAnew(
    _ request: DispatchRequest, declining isDeclined: Bool, of operation: DispatchOperation
  ) -> DispatchRequest {
    if isCounted { operation.core.bodies.leave(operation) }
    body = []
    trailers = nil
    return request
  }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    if isCounted { operation.core.bodies.leave(operation) }
    let whole = body
    body = []
    if let completion = completion.take() {
      if let error = outcome.error {
        completion(.failure(error))
      } else {
        completion(
          .success(
            DispatchResponse(
              head: head, body: whole, url: url, times: outcome.times, lastFields: trailers,
              weight: operation.sentWeight)))
      }
    }
    operation.core.operations.remove()
  }
}
