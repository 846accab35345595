import CCurl
import HTTPTypes
import HeadgateDispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// A server that does not want the rest of a body answers and closes. What libcurl sends after that meets a reset, and it
// gives up without another look at the socket, where the answer may lie. It is taken from there before the socket is
// closed. Not over TLS, whose keys libcurl has; there, and before this, a look before each write has to do.

extension CurlUpload {
  /// The longest answer that is taken so.
  private static let mostRescued = 1 << 20

  /// The connection is about to be closed: takes what has arrived on it.
  func rescue(from descriptor: Int32) {
    guard !isSecure else { return }
    var bytes: [UInt8] = []
    while bytes.count < Self.mostRescued {
      let piece = [UInt8](unsafeUninitializedCapacity: 16384) { buffer, count in
        count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)))
      }
      guard !piece.isEmpty else { break }
      bytes += piece
    }
    remnant = bytes
  }

  /// Where the head of an answer that was rescued whole ends, and where its body does; nil for everything else.
  static func parts(of bytes: [UInt8]) -> (head: Int, body: Int)? {
    let blank = Array("\r\n\r\n".utf8)
    guard bytes.starts(with: "HTTP/1.".utf8),
      let end = bytes.indices.first(where: { bytes[$0...].starts(with: blank) }).map({ $0 + blank.count })
    else { return nil }
    let digits = bytes[..<end].drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix(3)
    guard let status = Int(String(decoding: digits, as: UTF8.self)), status >= 200 else { return nil }
    let head = ResponseHead(statusCode: status, block: Array(bytes[..<end]))
    let count = status == 204 || status == 304 ? 0 : head.declaredLength
    // In any other form nobody could tell whether it is whole.
    guard head[.transferEncoding] == nil, let count, count >= 0, bytes.count - end >= count else { return nil }
    return (end, end + count)
  }
}

extension CurlTransfer {
  /// Tells of an answer that lay in the socket when the connection broke. False: there was none, or it is not whole.
  func tellRescued() -> Bool {
    guard !head.hasBegun, let bytes = upload?.remnant, let (end, last) = CurlUpload.parts(of: bytes) else {
      return false
    }
    var buffer = HeadBuffer()
    var start = 0
    while start < end, let line = bytes[start..<end].firstIndex(of: UInt8(ascii: "\n")) {
      let goesOn = bytes[start...line].withUnsafeBytes { received(headLine: $0, in: &buffer) }
      guard goesOn else { return isAborted }
      start = line + 1
    }
    guard headIsDone else { return false }
    if last > end { _ = bytes[end..<last].withUnsafeBytes { deliver($0) } }
    return fault == nil
  }
}
