import CCurl
import HTTPTypes
import HeadgateDispatch
import HeadgateLibC

/// The request's body of one exchange, and a response that arrives before the body is complete.
///
/// When the response is a redirect or an error, libcurl itself stops sending, reads the response to its end, and
/// closes the connection, which has an incomplete body on it. libcurl does not do so if the server has announced that
/// it will close the connection. This class handles that case, an early success, and servers that don't support
/// `Expect`. Used only on the loop's thread.
final class CurlUpload {
  /// Bodies up to this size are copied by libcurl and sent together with the head.
  private static let mostCopied = 64 * 1024
  /// By default, the server is asked first (`Expect`) for bodies larger than this.
  private static let mostUnasked: Int64 = 1 << 20

  let source: RequestBodySource
  /// Whether to send `Expect: 100-continue`.
  private(set) var expectsContinue: Bool
  /// The bytes of a body that libcurl copies.
  let copied: [UInt8]?
  /// libcurl was told to wait for data.
  var isHeld = false
  /// The exchange ends without a complete response.
  var isGivenUp = false

  private var sent: Int64 = 0
  private var hasEnded = false
  // The bytes left of a response that arrived before the body was sent; nil if there is none, or if its length is
  // unknown.
  private var answerLeft: Int64?
  private var answerCloses = false
  // The response is a redirect or an error, so sending stops.
  private var isRefused = false
  // A 417 response. libcurl (7.88) resends such a request on the same connection, which may contain part of the body,
  // and never sends `Expect` with that handle again. So the exchange is ended before that, and started again here.
  private var refusal: ResponseHead?

  init(_ source: RequestBodySource, _ request: DispatchRequest) {
    self.source = source
    let expects =
      request.headerFields.contains(.expect)
      || request.expectsContinue ?? ((source.length ?? .max) > Self.mostUnasked)
    expectsContinue = expects
    copied = expects ? nil : source.whole.flatMap { $0.count <= Self.mostCopied ? $0 : nil }
  }

  /// The `Expect` line to pass to libcurl; nil if libcurl adds the field by itself.
  var expectField: String? {
    if !expectsContinue { return "Expect:" }
    return (source.length ?? .max) > Self.mostUnasked ? nil : "Expect: 100-continue"
  }

  /// The request is about to be sent on an established connection.
  func begins() {
    isHeld = false
    guard let length = source.length, length == 0 || copied != nil, sent < length || length == 0 else { return }
    sent = length
    source.sentAll()
  }

  private var isSent: Bool { hasEnded || sent == source.length }

  /// Whether the body was sent in part.
  var isPartlySent: Bool { sent > 0 && !isSent }

  /// Whether to wait for data that the system still has to send: the whole body of an exchange that succeeded.
  var mustArrive: Bool { isSent && !isGivenUp }

  // MARK: Calls from libcurl

  /// Fills libcurl's buffer. Returns libcurl's result: the number of bytes, 0 at the end, or pause.
  func send(into buffer: UnsafeMutableRawBufferPointer, _ wake: @escaping @Sendable () -> Void) -> Int {
    guard !isRefused else { return stop() }
    switch source.read(into: buffer, whenReady: wake) {
    case .bytes(let count):
      sent += Int64(count)
      return count
    case .end:
      hasEnded = true
      return 0
    case .wait:
      isHeld = true
      return Int(CURL_READFUNC_PAUSE)
    case .failed: return Int(CURL_READFUNC_ABORT)
    }
  }

  /// Stops sending within the body. Up to 8.6 libcurl takes 0 bytes for the body's end: with a declared length the
  /// server can't mistake it for a complete body. A chunked body would look complete, so it is paused until the response
  /// is complete; and so is every body from 8.7 on. If the response's length is unknown too, the final chunk is sent to a
  /// server that has responded and will close the connection.
  private func stop() -> Int {
    let mustPause = source.length == nil ? answerLeft != nil : CurlVersion.failsShortUploads
    guard mustPause else { return 0 }
    isHeld = true
    return Int(CURL_READFUNC_PAUSE)
  }

  /// The connection broke before a response began: libcurl wants to resend the body on another connection.
  func rewind(to offset: Int64) -> Bool {
    guard offset == 0, source.rewind() else { return false }
    (sent, hasEnded) = (0, false)
    return true
  }

  // MARK: Responses

  /// A final head arrived. Returns false if the exchange must end because the server does not support `Expect`.
  func answered(_ response: ResponseHead, _ head: borrowing HeadLines) -> Bool {
    if head.status == 417, expectsContinue {
      refusal = response
      return false
    }
    guard !isSent else { return true }
    isRefused = head.status >= 300
    answerCloses = head.closes
    answerLeft = head.status == 204 || head.status == 304 ? 0 : head.framing.length
    return true
  }

  /// A piece of the response's body arrived.
  func answerBrought(_ count: Int) { answerLeft? -= Int64(count) }

  /// Whether the response was complete before the body was sent. If the connection breaks now, nothing is lost.
  var isAnswered: Bool { !isSent && answerLeft == 0 }

  /// Whether the server, in addition, closes the connection.
  var endsHere: Bool { isAnswered && answerCloses }

  /// Whether the exchange was ended because of `Expect`.
  var isQuestionRefused: Bool { refusal != nil }

  /// Prepares to send the request again without `Expect`. Returns false if that is impossible.
  func asksNoMore() -> Bool {
    guard rewind(to: 0) else { return false }
    refusal = nil
    expectsContinue = false
    return true
  }

  /// The 417 response, to deliver if the request can't be sent again.
  func takeRefusal() -> ResponseHead? { refusal.take() }
}

extension CurlTransfer {
  /// libcurl has room for more of the body.
  func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    upload?.send(into: buffer) { [self] in sendOn() } ?? 0
  }

  /// Delivers the head of the 417 response if the request can't be sent again. Its body is not available.
  func tellRefusal() {
    guard let head = upload?.takeRefusal() else { return }
    reached(.receiving)
    _ = follow(events.received(head))
  }
}

extension CurlCallbacks {
  static let read: ccurl_data_function = { buffer, size, count, pointer in
    guard let buffer, let pointer else { return Int(CURL_READFUNC_ABORT) }
    return transfer(pointer)?.send(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
      ?? Int(CURL_READFUNC_ABORT)
  }

  static let seek: curl_seek_callback = { pointer, offset, origin in
    guard let pointer, origin == SEEK_SET, transfer(pointer)?.upload?.rewind(to: Int64(offset)) == true else {
      return CURL_SEEKFUNC_FAIL
    }
    return CURL_SEEKFUNC_OK
  }
}

extension CurlEasy {
  /// Passes the body and the method to libcurl.
  func set(_ upload: CurlUpload, _ method: HTTPRequest.Method) {
    if let copied = upload.copied {
      // libcurl copies the bytes after the size is set. A null pointer would make it call the read callback.
      ccurl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(copied.count))
      _ = copied.withUnsafeBytes { bytes in
        if let base = bytes.baseAddress, !bytes.isEmpty {
          ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, base)
        } else {
          ccurl_set_string(handle, CURLOPT_COPYPOSTFIELDS, "")
        }
      }
      if method != .post { ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue) }
    } else {
      // A negative length means unknown: the body is sent chunked.
      ccurl_set_long(handle, CURLOPT_UPLOAD, 1)
      ccurl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.source.length ?? -1))
      ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)
      ccurl_set_data_function(handle, CURLOPT_READFUNCTION, CurlCallbacks.read)
      ccurl_set_seek_function(handle, CurlCallbacks.seek)
    }
  }
}

/// Whether a socket has bytes to read.
func hasArrived(at descriptor: Int32) -> Bool {
  var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&wanted, 1, 0) > 0 && wanted.revents & Int16(POLLIN) != 0
}
