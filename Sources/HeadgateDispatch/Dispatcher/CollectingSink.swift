import HTTPTypes

/// Gathers a whole response in memory, up to the request's cap, and hands it to a completion.
// Unchecked: the operation calls one method at a time, each after it has taken its lock, and nothing else reads these. It owns
// the sink, and is there whenever it calls: so the sink need not count a reference to it.
final class CollectingSink: ResponseSink, @unchecked Sendable {
  private let cap: Int
  // Taken out at the end: what it holds, and perhaps the operation's handle, is let go of then.
  private var completion: ResponseCompletion?
  private let acceptance: Acceptance?
  private var head = ResponseHead(statusCode: 0, block: [])
  private var url = ""
  private var body: [UInt8] = []
  private var trailers: HTTPFields?
  private unowned var operation: DispatchOperation?
  // The body's number in the dispatcher's account, once it is large enough to be counted there.
  private var number: Int?

  init(cap: Int, acceptance: Acceptance? = nil, _ completion: @escaping ResponseCompletion) {
    self.cap = cap
    self.acceptance = acceptance
    self.completion = completion
  }

  /// Whose body it is. Said once, before the submission.
  func attach(_ operation: DispatchOperation) { self.operation = operation }

  func accepted() { acceptance?.signal() }

  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow {
    self.head = head
    self.url = url
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow {
    guard bytes.count <= cap - body.count else {
      throw DispatchError(.bodyTooLarge, phase: .receiving, detail: "over \(cap) bytes")
    }
    // A small first piece is most often all there is: the head is looked into for the others only.
    if body.isEmpty, bytes.count >= 8192, let declared = head.declaredLength, declared > bytes.count {
      // A server may declare what it likes: no more than a megabyte is taken on trust.
      body.reserveCapacity(min(declared, cap, 1 << 20))
    }
    body.append(contentsOf: bytes)
    return body.count > BodyBudget.uncounted ? count(bytes.count) : .more
  }

  /// Has the dispatcher count it, which may want it to pause.
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

  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore) {
    acceptance?.signal()
    if let number { core.bodies.leave(number) }
    let whole = body
    body = []
    if let completion = completion.take() {
      if let error {
        completion(.failure(error))
      } else {
        completion(.success(DispatchResponse(head: head, body: whole, url: url, times: times, lastFields: trailers)))
      }
    }
    core.operations.remove()
  }
}
