import CCurl
import HeadgateDispatch

/// libcurl's result codes in the dispatcher's words.
enum CurlFailure {
  static func error(_ result: CURLcode, of transfer: CurlTransfer) -> DispatchError? {
    if transfer.isAborted { return DispatchError(.cancelled, phase: transfer.phase) }
    // A server that has said all it had to say may break the connection while it is still sent to.
    if result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR, transfer.upload?.isAnswered == true { return nil }
    if transfer.headIsTooLarge { return DispatchError(.headTooLarge, phase: .awaitingHead) }
    guard result != CURLE_OK else {
      // libcurl takes a connection that ends inside the head for a response that was whole.
      if transfer.headIsDone { return nil }
      return DispatchError(.badResponse, phase: .awaitingHead, detail: "the connection ended inside the head")
    }
    let detail =
      result == CURLE_SEND_FAIL_REWIND
      ? "an idle connection had been closed by the server, and the body can't be sent again on another"
      : String(cString: curl_easy_strerror(result))
    return DispatchError(code(result, transfer.phase), phase: transfer.phase, detail: detail)
  }

  private static func code(_ result: CURLcode, _ phase: DispatchError.Phase) -> DispatchError.Code {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
    case CURLE_COULDNT_CONNECT: .connectFailed
    // The only limit on time that libcurl is given is that on connecting.
    case CURLE_OPERATION_TIMEDOUT: .connectTimedOut
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
      .tlsFailed
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
      CURLE_SEND_FAIL_REWIND:
      .connectionLost
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .badResponse
    case CURLE_URL_MALFORMAT: .invalidURL
    // libcurl has a cap of its own on a line of the head (100 KB) and no code of its own for it in every version.
    case CURLE_OUT_OF_MEMORY where phase == .awaitingHead: .headTooLarge
    default: .transportFailed
    }
  }
}
