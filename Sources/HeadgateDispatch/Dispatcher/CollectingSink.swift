import HTTPTypes
import HeadgateThreads

/// Collects a whole response in memory, up to the request's cap, and passes it to a completion.
// Unchecked: the operation calls one method at a time, each after taking its lock, and nothing else reads these
// properties. `unowned` is safe: the operation owns the sink and exists during every call.
final class CollectingSink: ResponseSink, @unchecked Sendable {
  private let cap: Int
  // Set to nil at the end, which releases what the closure captures, possibly the operation's own handle.
  private var completion: ResponseCompletion?
  private let acceptance: OneShot<Void>?
  private var head = ResponseHead(statusCode: 0, block: [])
  private var url = ""
  private var body: [UInt8] = []
  private var trailers: HTTPFields?
  private unowned var operation: DispatchOperation?
  // The body's number in the dispatcher's `BodyBudget`, once it is large enough to be counted.
  private var number: Int?

  init(cap: Int, acceptance: OneShot<Void>? = nil, _ completion: @escaping ResponseCompletion) {
    self.cap = cap
    self.acceptance = acceptance
    self.completion = completion
  }

  func attach(_ operation: DispatchOperation) { self.operation = operation }

  func accepted() { acceptance?.set() }

  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow {
    self.head = head
    self.url = url
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow {
    guard bytes.count <= cap - body.count else {
      throw DispatchError(.bodyTooLarge, phase: .receiving, detail: "over \(cap) bytes")
    }
    // A small first piece is usually the whole body, so `Content-Length` is parsed only for larger ones.
    if body.isEmpty, bytes.count >= 8192, let declared = head.declaredLength, declared > bytes.count {
      // The server's declared length is not trusted beyond one megabyte.
      body.reserveCapacity(min(declared, cap, 1 << 20))
    }
    body.append(contentsOf: bytes)
    return body.count > BodyBudget.uncounted ? count(bytes.count) : .more
  }

  /// Counts the bytes in the dispatcher's budget, which may pause the transfer.
  private func count(_ more: Int) -> BodyFlow {
    guard let operation else { return .more }
    let budget = operation.core.bodies
    if let number { return budget.add(more, to: number, of: operation) }
    let number = budget.enter(operation)
    self.number = number
    return budget.add(body.count, to: number, of: operation)
  }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  var isUnseen: Bool { true }

  func startAnew() {
    if let number = number.take() { operation?.core.bodies.leave(number) }
    body = []
    trailers = nil
  }

  func end(_ error: DispatchError?, _ times: DispatchTimes, _ weight: SentWeight?, told core: DispatchCore) {
    acceptance?.set()
    if let number { core.bodies.leave(number) }
    let whole = body
    body = []
    if let completion = completion.take() {
      if let error {
        completion(.failure(error))
      } else {
        completion(
          .success(
            DispatchResponse(head: head, body: whole, url: url, times: times, lastFields: trailers, weight: weight)))
      }
    }
    core.operations.remove()
  }
}
