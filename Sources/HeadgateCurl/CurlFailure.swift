import CCurl
import HeadgateDispatch

/// Maps libcurl's result codes to the dispatcher's errors.
enum CurlFailure {
  static func error(_ result: CURLcode, of transfer: CurlTransfer) -> DispatchError? {
    if transfer.isAborted { return DispatchError(.cancelled, phase: transfer.phase) }
    // After its complete response a server may close the connection while the body is still being sent.
    if result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR, transfer.upload?.isAnswered == true {
      return transfer.isCutShort()
    }
    if let fault = transfer.fault { return fault }
    if transfer.connectionWasStale {
      return DispatchError(.connectionLost, phase: .awaitingHead, detail: closedConnection(transfer.exchange.request))
    }
    guard result != CURLE_OK else {
      // libcurl treats a connection that ends within the head as a complete response.
      if transfer.headIsDone { return transfer.isCutShort() }
      return DispatchError(.badResponse, phase: .awaitingHead, detail: "the connection ended within the head")
    }
    let detail = account(of: result, transfer)
    if let failure = proxyFailure(result, transfer, detail) { return failure }
    if let words = TLSFailure.words(result, detail, transfer) {
      return DispatchError(.tlsFailed, phase: .securing, detail: words)
    }
    let code = code(result, transfer)
    // For a line that is too long, libcurl has the words of another error, such as "Out of memory".
    if code == .headTooLarge, transfer.easy?.head.taken ?? 0 < mostHeadBytes {
      if transfer.easy?.head.allLines ?? 0 >= mostHeadLines {
        return DispatchError(code, phase: transfer.phase, detail: "it has more than \(mostHeadLines) lines")
      }
      return DispatchError(code, phase: transfer.phase, detail: "a line has more than \(longestHeadLine) bytes")
    }
    // A server that rejects a body may respond and close the connection. libcurl gives up when a write fails, without
    // reading the response that may have arrived.
    let isUnheard = code == .connectionLost && transfer.upload?.isPartlySent == true && !transfer.headIsDone
    return DispatchError(code, phase: transfer.phase, detail: isUnheard ? detail + Self.unheardAnswer : detail)
  }

  /// What happened, usually in libcurl's words.
  private static func account(of result: CURLcode, _ transfer: CurlTransfer) -> String {
    if result == CURLE_SEND_FAIL_REWIND {
      return "an idle connection had been closed by the server, and the body can't be sent again on another"
    }
    // libcurl names the host and the port of the URL, which play no part.
    let endPoint = transfer.exchange.request.endPoint
    if result == CURLE_COULDNT_CONNECT, endPoint.isUnixSocket {
      return "the socket \(endPoint.host) could not be connected to"
    }
    var said = transfer.easy?.message ?? ""
    if said.isEmpty { said = String(cString: curl_easy_strerror(result)) }
    // libcurl does not say why no connection could be made.
    guard result == CURLE_COULDNT_CONNECT, let reason = transfer.easy?.systemError else { return said }
    return said.contains(reason) ? said : "\(said) (\(reason))"
  }

  /// libcurl's limits for a line of a head (CURL_MAX_HTTP_HEADER), and for the whole head, which it has had since 8.3
  /// (MAX_HTTP_RESP_HEADER_SIZE), less a line that is not passed on.
  private static let longestHeadLine = 100 * 1024
  private static let mostHeadBytes = 200 * 1024
  /// And for its lines, since 8.14 (MAX_HTTP_RESP_HEADER_COUNT).
  private static let mostHeadLines = 5000

  private static let unheardAnswer =
    "; the server closed the connection before it had the whole body, and a response that it may have sent is lost: use "
    + "expectsContinue to let the server respond before the body is sent"

  /// Why a request that met a closed connection is not sent again.
  private static func closedConnection(_ request: DispatchRequest) -> String {
    let account = "the server closed the reused connection before it responded"
    if request.mayBeRepeated { return account }
    return request.isIdempotent
      ? account + "; the body can't be sent again" : account + "; a \(request.method) is not retried automatically"
  }

  /// The error of the connection to the proxy. It must not be confused with an error of the end-point.
  private static func proxyFailure(
    _ result: CURLcode, _ transfer: CurlTransfer, _ detail: String
  ) -> DispatchError? {
    guard let proxy = transfer.proxy else { return nil }
    func failure(_ code: DispatchError.Code, _ phase: DispatchError.Phase, _ words: String) -> DispatchError {
      DispatchError(code, phase: phase, detail: "the proxy \(proxy) \(words)")
    }
    let answer = transfer.easy?.proxyStatus ?? 0
    switch result {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST:
      return failure(.nameNotResolved, .name, "has a host name that could not be resolved")
    // The end-point's own handshake follows the proxy's answer.
    case _ where proxy.scheme == "https" && answer == 0 && isOfTLS(result):
      return failure(.tlsFailed, .securing, "can't be trusted, or does not speak TLS: \(detail)")
    // Before the next: since 8.20 that is also the result of a refused tunnel.
    case _ where answer == 407:
      return failure(.proxyFailed, .tunnelling, "requires valid credentials (407)")
    case _ where answer >= 300:
      return failure(.proxyFailed, .tunnelling, "answered the tunnel request with \(answer)")
    case CURLE_COULDNT_CONNECT: return failure(.connectFailed, .connecting, "could not be reached: \(detail)")
    case CURLE_OPERATION_TIMEDOUT: return failure(.connectTimedOut, transfer.phase, "timed out: \(detail)")
    case CURLE_PROXY: return failure(.proxyFailed, .tunnelling, "did not open a tunnel: \(detail)")
    case _ where proxy.tunnels(to: transfer.exchange.request) && answer == 0 && transfer.phase == .connecting:
      return failure(.proxyFailed, .tunnelling, "did not open a tunnel: \(detail)")
    default: return nil
    }
  }

  private static func isOfTLS(_ result: CURLcode) -> Bool {
    result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CONNECT_ERROR
  }

  private static func code(_ result: CURLcode, _ transfer: CurlTransfer) -> DispatchError.Code {
    let phase = transfer.phase
    return switch result {
    // libcurl has no code of its own for an invalid chunk, nor had 8.3 to 8.5 for a head that is too large. The connection
    // is not lost then. (A connection that ended is CURLE_PARTIAL_FILE.)
    case CURLE_RECV_ERROR
    where transfer.easy?.head.framing.isChunked == true && transfer.headIsDone && transfer.isStillConnected:
      .badResponse
    case CURLE_RECV_ERROR where !transfer.headIsDone && transfer.easy?.head.taken ?? 0 >= mostHeadBytes: .headTooLarge
    // CURLE_TOO_LARGE, which came with 8.6.
    case CURLcode(rawValue: 100): .headTooLarge
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
    case CURLE_COULDNT_CONNECT: .connectFailed
    // The connect timeout is the only time limit that libcurl gets.
    case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
      CURLE_SEND_FAIL_REWIND:
      .connectionLost
    // A broken HTTP/2 stream is reported as a protocol error.
    case CURLE_HTTP2_STREAM where phase == .receiving: .connectionLost
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .badResponse
    case CURLE_URL_MALFORMAT: .invalidURL
    // The result of 7.88 for a head whose first field begins with a space.
    case CURLE_BAD_FUNCTION_ARGUMENT where phase == .awaitingHead: .badResponse
    // libcurl has its own limit for a header line (100 KB), and not every version has a specific code for it.
    case CURLE_OUT_OF_MEMORY where phase == .awaitingHead: .headTooLarge
    default: .transportFailed
    }
  }
}

/// Explains TLS errors, and what to do.
package enum TLSFailure {
  // The command recognizes these two, and names its options for them.
  package static let untrustedServer = "the server's certificate is not signed by a trusted authority"
  package static let untrustedClient = "the server requires a client certificate that it trusts"

  /// Nil if it was not a TLS error.
  static func words(_ result: CURLcode, _ said: String, _ transfer: CurlTransfer) -> String? {
    let record = transfer.use?.tls
    // OpenSSL's verification results (X509_V_ERR_*).
    let verdict = transfer.easy?.certificateVerdict ?? 0
    switch result {
    case CURLE_PEER_FAILED_VERIFICATION:
      // libcurl itself compares the name, once OpenSSL has accepted the certificate. There is no verdict yet: 0 or 1.
      if verdict == 62 || record != nil && verdict <= 1 {
        return "the certificate does not match the name \(transfer.exchange.request.endPoint.host): use the name "
          + "that it was issued for (\(said))"
      }
      switch verdict {
      case 10: return "the server's certificate has expired: renew it on the server (\(said))"
      case 9: return "the server's certificate is not valid yet: check this machine's clock (\(said))"
      case 2, 18, 19, 20, 21: return "\(untrustedServer) (\(said))"
      default: return said
      }
    case CURLE_SSL_CONNECT_ERROR:
      guard let record else { return said }
      if record.metNoTLS { return "the server does not speak TLS: check the port, or use http (\(said))" }
      if record.hasNoVersion { return "the server supports no TLS version that is new enough (\(said))" }
      return record.refusesClient ? "\(untrustedClient) (\(said))" : said
    // With TLS 1.3 the server rejects the certificate after the client considers the handshake complete.
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING:
      return record?.refusesClient == true ? "\(untrustedClient) (\(said))" : nil
    // 8.16 and later say only that an argument is bad.
    case CURLE_SSL_CERTPROBLEM,
      CURLE_BAD_FUNCTION_ARGUMENT where transfer.easy?.hasClientCertificate == true && !transfer.isOnItsWay:
      return "the client certificate or its key can't be used: check the files and the password (\(said))"
    case CURLE_SSL_CACERT_BADFILE:
      return "the certificate authorities could not be read: check the file, which must be PEM (\(said))"
    case CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED: return said
    default: return nil
    }
  }
}
