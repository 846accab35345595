import CCurl
import HeadgateDispatch

/// libcurl's result codes in the dispatcher's words.
enum CurlFailure {
  static func error(_ result: CURLcode, of transfer: CurlTransfer) -> DispatchError? {
    if transfer.isAborted { return DispatchError(.cancelled, phase: transfer.phase) }
    // A server that has said all it had to say may break the connection while it is still sent to.
    if result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR, transfer.upload?.isAnswered == true {
      return transfer.isCutShort()
    }
    if let fault = transfer.fault { return fault }
    if transfer.metClosedConnection {
      return DispatchError(.connectionLost, phase: .awaitingHead, detail: closedConnection(transfer.exchange.request))
    }
    guard result != CURLE_OK else {
      // libcurl takes a connection that ends inside the head for a response that was whole.
      if transfer.headIsDone { return transfer.isCutShort() }
      return DispatchError(.badResponse, phase: .awaitingHead, detail: "the connection ended inside the head")
    }
    let said = transfer.easy?.message ?? ""
    let detail =
      result == CURLE_SEND_FAIL_REWIND
      ? "an idle connection had been closed by the server, and the body can't be sent again on another"
      : said.isEmpty ? String(cString: curl_easy_strerror(result)) : said
    if let failure = proxyFailure(result, transfer, detail) { return failure }
    if let words = TLSFailure.words(result, detail, transfer) {
      return DispatchError(.tlsFailed, phase: .securing, detail: words)
    }
    let code = code(result, transfer.phase, detail)
    // A server that does not want the rest of a body may answer and break the connection. libcurl gives up at the write that
    // fails, without another look at the socket, where the answer may lie.
    let isUnheard = code == .connectionLost && transfer.upload?.isPartlySent == true && !transfer.headIsDone
    return DispatchError(code, phase: transfer.phase, detail: isUnheard ? detail + Self.unheardAnswer : detail)
  }

  private static let unheardAnswer =
    "; the server broke the connection before it had all of the body, and an answer that it may have sent is lost: with "
    + "expectsContinue it is asked before the body is sent"

  /// Why a request that met a closed connection may end there.
  private static func closedConnection(_ request: DispatchRequest) -> String {
    let account = "the connection had been kept open, and the server closed it before it answered"
    if request.mayBeRepeated { return account }
    return request.isIdempotent
      ? account + "; the body can't be sent again" : account + "; a \(request.method) is not sent again by itself"
  }

  /// What went wrong between here and the proxy. A proxy is never taken for the end-point that is behind it.
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
      return failure(.nameNotResolved, .name, "has a name that was not found")
    case CURLE_COULDNT_CONNECT: return failure(.connectFailed, .connecting, "could not be reached: \(detail)")
    case CURLE_OPERATION_TIMEDOUT: return failure(.connectTimedOut, transfer.phase, "was the way: \(detail)")
    case CURLE_PROXY: return failure(.proxyFailed, .tunnelling, "gave no tunnel: \(detail)")
    case _ where answer == 407:
      return failure(.proxyFailed, .tunnelling, "wants a user and a password that it knows (407)")
    case _ where answer >= 300:
      return failure(.proxyFailed, .tunnelling, "answered \(answer) when it was asked for a tunnel")
    case _ where proxy.tunnels(to: transfer.exchange.request) && answer == 0 && transfer.phase == .connecting:
      return failure(.proxyFailed, .tunnelling, "gave no tunnel: \(detail)")
    default: return nil
    }
  }

  private static func code(_ result: CURLcode, _ phase: DispatchError.Phase, _ said: String) -> DispatchError.Code {
    switch result {
    // libcurl has no code for it. Where it comes to say it in other words, this is a lost connection again.
    case CURLE_RECV_ERROR where said.lowercased().contains("chunked-encod"): .badResponse
    case CURLE_RECV_ERROR where said.lowercased().contains("too large response headers"): .headTooLarge
    // CURLE_TOO_LARGE, which came with 8.6.
    case CURLcode(rawValue: 100): .headTooLarge
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
    case CURLE_COULDNT_CONNECT: .connectFailed
    // The only limit on time that libcurl is given is that on connecting.
    case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
      CURLE_SEND_FAIL_REWIND:
      .connectionLost
    // Over HTTP/2 a stream that breaks off comes as an error of the protocol.
    case CURLE_HTTP2_STREAM where phase == .receiving: .connectionLost
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .badResponse
    case CURLE_URL_MALFORMAT: .invalidURL
    // What 7.88 says of a first field that begins with a space.
    case CURLE_BAD_FUNCTION_ARGUMENT where phase == .awaitingHead: .badResponse
    // libcurl has a cap of its own on a line of the head (100 KB) and no code of its own for it in every version.
    case CURLE_OUT_OF_MEMORY where phase == .awaitingHead: .headTooLarge
    default: .transportFailed
    }
  }
}

/// What was wrong in TLS, and what to do.
enum TLSFailure {
  /// Nil: it was not TLS.
  static func words(_ result: CURLcode, _ said: String, _ transfer: CurlTransfer) -> String? {
    let text = said.lowercased()
    func saidAny(_ parts: String...) -> Bool { parts.contains { text.contains($0) } }
    // OpenSSL's numbers for what was wrong with a certificate (X509_V_ERR_*).
    let verdict = transfer.easy?.certificateVerdict ?? 0
    switch result {
    case CURLE_PEER_FAILED_VERIFICATION:
      if saidAny("subject name", "subjectaltname", "does not match", "certificate subject") || verdict == 62 {
        return "the certificate is for another name than \(transfer.exchange.request.endPoint.host): ask for the name "
          + "that it is for (\(said))"
      }
      switch verdict {
      case 10: return "the server's certificate has expired: it has to be renewed there (\(said))"
      case 9: return "the server's certificate is not valid yet: check this machine's clock (\(said))"
      case 2, 18, 19, 20, 21:
        return "nobody who is trusted vouches for the server's certificate (\(said))"
      default: return said
      }
    case CURLE_SSL_CONNECT_ERROR:
      if saidAny("wrong version number", "packet length too long", "http request") {
        return "what answers there speaks no TLS: check the port, or ask by http (\(said))"
      }
      if saidAny("protocol version", "unsupported protocol", "no protocols available") {
        return "the server speaks no version of TLS that is new enough (\(said))"
      }
      return clientCertificate(text, said) ?? said
    // With TLS 1.3 the server says so when the client takes the handshake to be over.
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING: return clientCertificate(text, said)
    case CURLE_SSL_CERTPROBLEM:
      return "the client's certificate or its key can't be used: check the files and the password (\(said))"
    case CURLE_SSL_CACERT_BADFILE:
      return "the authorities could not be read: check the file, which has to be PEM (\(said))"
    case CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED: return said
    default: return nil
    }
  }

  private static func clientCertificate(_ text: String, _ said: String) -> String? {
    let isAboutUs = ["certificate required", "alert bad certificate", "alert unknown ca", "alert handshake failure"]
    guard isAboutUs.contains(where: { text.contains($0) }) else { return nil }
    return "the server wants a certificate of the client, one that it knows (\(said))"
  }
}
