/// What an answer carries after its head.
enum Payload: Sendable {
  case bytes([UInt8])
  /// So many bytes of ``OriginAnswer/patternByte(at:)``.
  case pattern(Int)
  case zeros(GzipZeros)
  case chunks(count: Int, size: Int, every: Duration)
  case trickle(count: Int, every: Duration)
  /// Fewer bytes than the head declares.
  case partial(declared: Int, sent: Int, ending: PayloadSource.Ending)
  /// Bytes in place of a head and a body.
  case raw([UInt8])
  /// The body of the request.
  case echo
  /// How many bytes that has, in digits.
  case bodyCount

  /// What the head declares; nil for chunked transfer.
  var declaredCount: Int? {
    switch self {
    case .bytes(let bytes), .raw(let bytes): bytes.count
    case .pattern(let count), .trickle(let count, _): count
    case .zeros(let zeros): zeros.wireCount
    case .partial(let declared, _, _): declared
    case .echo, .bodyCount: 0
    case .chunks: nil
    }
  }

  var contentType: String {
    switch self {
    case .bytes, .bodyCount: "text/plain"
    default: "application/octet-stream"
    }
  }
}
