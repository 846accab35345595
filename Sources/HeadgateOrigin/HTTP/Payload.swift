/// The body of a response.
enum Payload: Sendable {
  case bytes([UInt8])
  /// Bytes of ``OriginAnswer/patternByte(at:)``.
  case pattern(Int)
  case zeros(GzipZeros)
  case chunks(count: Int, size: Int, every: Duration)
  case trickle(count: Int, every: Duration)
  /// Fewer bytes than the head declares.
  case partial(declared: Int, sent: Int, ending: PayloadSource.Ending)
  /// Bytes instead of a head and a body.
  case raw([UInt8])
  /// The body of the request.
  case echo
  /// The length of the request's body, in digits.
  case bodyCount
  /// What a script returns for the request's body.
  case reading(@Sendable ([UInt8]) -> OriginAnswer)

  /// The declared length; nil for chunked encoding.
  var declaredCount: Int? {
    switch self {
    case .bytes(let bytes), .raw(let bytes): bytes.count
    case .pattern(let count), .trickle(let count, _): count
    case .zeros(let zeros): zeros.wireCount
    case .partial(let declared, _, _): declared
    case .echo, .bodyCount, .reading: 0
    case .chunks: nil
    }
  }

  /// Whether the request's body must be stored.
  var needsBody: Bool {
    switch self {
    case .echo, .reading: true
    default: false
    }
  }

  var contentType: String {
    switch self {
    case .bytes, .bodyCount: "text/plain"
    default: "application/octet-stream"
    }
  }
}
