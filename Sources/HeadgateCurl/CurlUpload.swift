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

/// The request's body of one exchange on its way to libcurl, and what the server says before it has all of it.
///
/// libcurl itself stops sending when the answer is a redirect or an error, reads that to its end and closes the
/// connection, since half a body is on it; but not where the server has said that it closes the connection anyway. What is
/// here is the rest: that case, a success that comes early, and a server that does not know of `Expect`. Touched by the
/// loop's thread only.
final class CurlUpload {
  /// Up to so many bytes libcurl gets a copy, which leaves together with the head.
  private static let mostCopied = 64 * 1024
  /// Without a word of the request's own, a server is asked before it gets more than this.
  private static let mostUnasked: Int64 = 1 << 20

  let source: RequestBodySource
  /// Whether the server is asked first.
  private(set) var expectsContinue: Bool
  /// The bytes of a body that libcurl is to copy.
  let copied: [UInt8]?
  /// libcurl was told to wait for the body.
  var isHeld = false
  /// The exchange ends without a response.
  var isGivenUp = false

  private var sent: Int64 = 0
  private var hasEnded = false
  // What is still to come of an answer that came before the body was sent; nil when there is none or it does not say.
  private var answerLeft: Int64?
  private var answerCloses = false
  // The answer is a redirect or an error: nothing more is sent.
  private var isRefused = false
  // A head of 417. libcurl (7.88) sends such a request again on the connection that may have a part of the body on it, and
  // never asks again with that handle: the exchange is ended before it can, and begun again here.
  private var refusal: ResponseHead?

  init(_ source: RequestBodySource, _ request: DispatchRequest) {
    self.source = source
    let expects =
      request.headerFields.contains(.expect)
      || request.expectsContinue ?? ((source.length ?? .max) > Self.mostUnasked)
    expectsContinue = expects
    copied = expects ? nil : source.whole.flatMap { $0.count <= Self.mostCopied ? $0 : nil }
  }

  /// What libcurl must be told of the question; nil where it asks by itself.
  var expectField: String? {
    if !expectsContinue { return "Expect:" }
    return (source.length ?? .max) > Self.mostUnasked ? nil : "Expect: 100-continue"
  }

  /// The request is about to be sent, on a connection that stands.
  func begins() {
    isHeld = false
    guard let length = source.length, length == 0 || copied != nil, sent < length || length == 0 else { return }
    sent = length
    source.sentAll()
  }

  private var isSent: Bool { hasEnded || sent == source.length }

  /// Whether some of it was sent, and not all.
  var isPartlySent: Bool { sent > 0 && !isSent }

  /// Whether what the system has yet to send is worth the wait: all of the body, for an exchange that ended well.
  var mustArrive: Bool { isSent && !isGivenUp }

  // MARK: What libcurl asks

  /// Fills libcurl's buffer. Returns what it wants to hear: how many bytes, none at the end, or "later".
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

  /// The end of the sending, in the middle of the body. For libcurl that is the body's end, which with a declared length
  /// can't look whole to the server. A chunked one could: it is held instead, until the answer is whole. If even that
  /// can't be known, the end of the chunks goes to a server that has answered and closes.
  private func stop() -> Int {
    guard source.length == nil, answerLeft != nil else { return 0 }
    isHeld = true
    return Int(CURL_READFUNC_PAUSE)
  }

  /// The connection broke before the server said anything: libcurl wants to send the body anew on another.
  func rewind(to offset: Int64) -> Bool {
    guard offset == 0, source.rewind() else { return false }
    (sent, hasEnded) = (0, false)
    return true
  }

  // MARK: What the server answers

  /// A final head came. False: the exchange is to be ended, since the server did not understand the question.
  func answered(_ head: ResponseHead) -> Bool {
    if head.statusCode == 417, expectsContinue {
      refusal = head
      return false
    }
    guard !isSent else { return true }
    isRefused = head.statusCode >= 300
    answerCloses = head[.connection]?.lowercased().contains("close") ?? false
    answerLeft = head.statusCode == 204 || head.statusCode == 304 ? 0 : head[.contentLength].flatMap { Int64($0) }
    return true
  }

  /// A piece of the answer's body came.
  func answerBrought(_ count: Int) { answerLeft? -= Int64(count) }

  /// The answer is whole, though the body was not sent: a connection that breaks now takes nothing away.
  var isAnswered: Bool { !isSent && answerLeft == 0 }

  /// And the server wants no more of it.
  var endsHere: Bool { isAnswered && answerCloses }

  /// Whether the exchange was ended for the question's sake.
  var isQuestionRefused: Bool { refusal != nil }

  /// Whether the request can be sent again, without the question.
  func asksNoMore() -> Bool {
    guard rewind(to: 0) else { return false }
    refusal = nil
    expectsContinue = false
    return true
  }

  /// The answer to the question, where the request can't be sent again.
  func takeRefusal() -> ResponseHead? { refusal.take() }
}

extension CurlTransfer {
  /// libcurl has room for more of the body.
  func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    upload?.send(into: buffer) { [self] in sendOn() } ?? 0
  }

  /// Tells of the answer to the question, where the request can't be sent again: its head is all there is.
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
  /// Tells libcurl of the body, and of the method that goes with it.
  func set(_ upload: CurlUpload, _ method: HTTPRequest.Method) {
    if let copied = upload.copied {
      // libcurl takes a copy, after the size was said. A null pointer would mean that a callback is to be asked.
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
      // A length below zero is not known: the body goes chunked.
      ccurl_set_long(handle, CURLOPT_UPLOAD, 1)
      ccurl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.source.length ?? -1))
      ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)
      ccurl_set_data_function(handle, CURLOPT_READFUNCTION, CurlCallbacks.read)
      ccurl_set_seek_function(handle, CurlCallbacks.seek)
    }
  }
}

/// Whether a socket has bytes to be read.
func hasArrived(at descriptor: Int32) -> Bool {
  var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&wanted, 1, 0) > 0 && wanted.revents & Int16(POLLIN) != 0
}
