import CCurl
import HeadgateDispatch

/// Decompresses a gzip body (RFC 1952) as it arrives, and detects truncation.
///
/// Uses zlib. Rejected: libcurl's own decoding, which reports no error for a truncated stream. For one thread at a time.
package final class GzipBody {
  private static let pieceSize = 64 * 1024

  // Owned by this object: initialized in init, ended in deinit, and never moved in between, as zlib requires.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
  private var isInside = false
  private let acceptsPadding: Bool
  private var isAfterMember = false
  private var isPadding = false

  /// - Parameter acceptsPadding: Whether zeros may follow the last member, as in files that tapes and other devices
  ///   have padded.
  /// - Returns: Nil if memory is exhausted.
  package init?(acceptsPadding: Bool = false) {
    self.acceptsPadding = acceptsPadding
    stream.initialize(to: z_stream())
    // 31: all window sizes, gzip format only.
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

  /// Whether the stream has ended at a valid position. True for an empty body.
  package var isWhole: Bool { !isInside }

  /// Decompresses bytes and passes the result on in pieces of up to 64 KB.
  ///
  /// - Parameter body: Receives a piece, valid during the call. Returns false to stop for now; the next call
  ///   continues there.
  /// - Returns: The number of input bytes consumed, fewer than given only if `body` returned false; nil if the data
  ///   is not gzip.
  package func inflate(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool) -> Int? {
    // zlib reads at most `avail_in` bytes, all valid during this call, and modifies none.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(clamping: bytes.count)
    repeat {
      guard stream.pointee.avail_in > 0 || isInside else { return bytes.count }
      let rest = bytes.suffix(Int(stream.pointee.avail_in))
      if isPadding || acceptsPadding && isAfterMember && !isInside && rest.first == 0 {
        isPadding = true
        return rest.allSatisfy { $0 == 0 } ? bytes.count : nil
      }
      isInside = true
      stream.pointee.next_out = piece.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_out = UInt32(Self.pieceSize)
      let result = CCurl.inflate(stream, Z_NO_FLUSH)
      let count = Self.pieceSize - Int(stream.pointee.avail_out)
      // More input is needed.
      if result == Z_BUF_ERROR, count == 0 { return bytes.count }
      guard result == Z_OK || result == Z_STREAM_END else { return nil }
      if result == Z_STREAM_END {
        // Another gzip member may follow: section 2.2.
        (isInside, isAfterMember) = (false, true)
        guard inflateReset(stream) == Z_OK else { return nil }
      }
      if count > 0, !body(UnsafeRawBufferPointer(rebasing: piece[..<count])) {
        return bytes.count - Int(stream.pointee.avail_in)
      }
    } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
    return bytes.count
  }
}
