#if AsyncHTTPClient
import NIOCore

/// The body of a response that was complete before the whole request was sent. If a write fails, the client discards
/// data that its consumer has not begun to read. Up to a megabyte is kept here.
struct EarlyAnswer: Sendable {
  private static let mostKept = 1 << 20

  private var count = 0
  private var kept: ByteBuffer? = ByteBuffer()

  mutating func append(_ piece: ByteBuffer) {
    count += piece.readableBytes
    if count <= Self.mostKept { kept?.writeImmutableBuffer(piece) } else { kept = nil }
  }

  /// What follows the bytes that were delivered; nil if it was not kept.
  func rest(after delivered: Int) -> ByteBuffer? {
    delivered >= count ? ByteBuffer() : kept?.getSlice(at: delivered, length: count - delivered)
  }
}
#endif
