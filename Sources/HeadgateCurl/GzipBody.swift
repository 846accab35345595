import CCurl
import HeadgateDispatch

/// Inflates a body of gzip's format (RFC 1952) as it comes, and knows whether it was whole.
///
/// zlib does the work. Rejected: libcurl's own decoding, which reports no error when the stream breaks off. Touched by the
/// loop's thread only.
final class GzipBody {
  private static let pieceSize = 64 * 1024

  // Owned by this object alone: set up in init, ended in deinit, and never moved between, as zlib wants it.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
  private var isInside = false

  /// Nil when there is no memory for it.
  init?() {
    stream.initialize(to: z_stream())
    // 31: windows of every size, in gzip's format only.
    guard ccurl_inflate_init(stream, 31) == Z_OK else {
      piece.deallocate()
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    piece.deallocate()
    stream.deallocate()
  }

  /// Whether the stream has ended where it may end. True for an empty body.
  var isWhole: Bool { !isInside }

  /// Inflates what has come, and hands it on in pieces of 64 KB at most.
  ///
  /// - Parameter body: Takes a piece, valid during the call. False ends the inflating.
  /// - Returns: False when the bytes are not gzip.
  func inflate(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    // zlib reads no more than `avail_in` bytes of it, all of which are valid for this call, and changes none.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(clamping: bytes.count)
    repeat {
      guard stream.pointee.avail_in > 0 || isInside else { return true }
      isInside = true
      stream.pointee.next_out = piece.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_out = UInt32(Self.pieceSize)
      let result = CCurl.inflate(stream, Z_NO_FLUSH)
      let count = Self.pieceSize - Int(stream.pointee.avail_out)
      // Nothing more can be made of what has come.
      if result == Z_BUF_ERROR, count == 0 { return true }
      guard result == Z_OK || result == Z_STREAM_END else { return false }
      if count > 0, !body(UnsafeRawBufferPointer(rebasing: piece[..<count])) { return true }
      if result == Z_STREAM_END {
        // Another stream may follow: section 2.2.
        isInside = false
        guard inflateReset(stream) == Z_OK else { return false }
      }
    } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
    return true
  }
}
