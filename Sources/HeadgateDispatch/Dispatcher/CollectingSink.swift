import HTTPTypes

/// Gathers a whole response in memory, up to the request's cap, and hands it to a completion.
// Unchecked: the operation calls one method at a time, each after it has taken its lock, and nothing else reads these.
final class CollectingSink: ResponseSink, @unchecked Sendable {
  typealias Completion = @Sendable (Result<DispatchResponse, DispatchError>) -> Void

  private let cap: Int
  // Taken out at the end: what it holds, and perhaps the operation's handle, is let go of then.
  private var completion: Completion?
  private let acceptance: Acceptance?
  private var head = ResponseHead(statusCode: 0, block: [])
  private var url = ""
  // Not checked at each access: a piece is appended, and nobody is called meanwhile.
  @exclusivity(unchecked) private var body: [UInt8] = []
  private var trailers: HTTPFields?

  init(cap: Int, acceptance: Acceptance? = nil, _ completion: @escaping Completion) {
    self.cap = cap
    self.acceptance = acceptance
    self.completion = completion
  }

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
    return .more
  }

  func received(trailers: HTTPFields) { self.trailers = trailers }

  var isUnseen: Bool { true }

  func startAnew() {
    body = []
    trailers = nil
  }

  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore) {
    acceptance?.signal()
    let whole = body
    body = []
    if let completion = completion.take() {
      if let error {
        completion(.failure(error))
      } else {
        completion(.success(DispatchResponse(head: head, body: whole, url: url, times: times, lastFields: trailers)))
      }
    }
    core.settle()
  }
}
