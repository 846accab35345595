// How a redirect changes a request: RFC 9110 section 15.4, and the Fetch standard for methods and credentials.

import HTTPTypes

package enum Redirect {
  /// Whether a status is a redirect to follow. 300 requires a choice, and 304 has no address.
  static func isRedirect(_ status: Int) -> Bool {
    (301...303).contains(status) || status == 307 || status == 308
  }

  /// The request to send after a response. Nil if the response is no redirect, or one that the request does not follow.
  ///
  /// - Parameters:
  ///   - request: The request that was answered, without the changes that interceptors made for its destination.
  ///   - sent: The request as sent, if different.
  ///   - head: The response's head.
  ///   - redirects: How many redirects were followed before it.
  /// - Throws: `tooManyRedirects` if the request follows no more, and like the other `next`.
  package static func next(
    after request: DispatchRequest, sentTo sent: DispatchRequest? = nil, by head: ResponseHead, redirects: Int
  ) throws(DispatchError) -> DispatchRequest? {
    guard isRedirect(head.statusCode), request.maxRedirects > 0, !request.redirects.followsNone,
      let location = head.location
    else { return nil }
    guard redirects < request.maxRedirects else {
      let last = ShownText.withoutPassword(location)
      throw DispatchError(.tooManyRedirects, phase: .awaitingHead, detail: "\(redirects), the last to \(last)")
    }
    return try next(
      after: request, sentTo: sent, status: head.statusCode, location: location,
      isFromPrivateAddress: head.isFromPrivateAddress)
  }

  /// The request to send next.
  ///
  /// 303 turns the method into GET (except HEAD); 301 and 302 do so for POST; 307 and 308 repeat method and body. If
  /// the scheme, host or port changes, only header fields known to be harmless are kept: see `RedirectFields`. Limits
  /// on time and size are kept.
  ///
  /// - Parameters:
  ///   - request: The request that was redirected, without the changes that interceptors made for its destination.
  ///   - sent: The request as sent, if different.
  ///   - status: The redirect's status.
  ///   - location: The redirect's URL.
  ///   - isFromPrivateAddress: Whether the redirecting server has a private address; nil if unknown.
  /// - Throws: `badRedirect` if the URL is not an http or https URL; `redirectRefused` if the request's policy does
  ///   not allow the redirect; `bodyNotReplayable` if the body would have to be sent again but can't be.
  static func next(
    after request: DispatchRequest, sentTo sent: DispatchRequest? = nil, status: Int, location: String,
    isFromPrivateAddress: Bool? = nil
  ) throws(DispatchError) -> DispatchRequest {
    let sent = sent ?? request
    let address = try target(of: request, sent, location)
    let isSameOrigin = address.endPoint == sent.endPoint && address.isSecure == sent.isSecure
    let isKeptPublic = try check(
      ProposedRedirect(from: sent.url, to: address.url, statusCode: status), to: address, of: request, sent,
      isSameOrigin: isSameOrigin, isFromPrivateAddress)
    var next = request
    next.fields.address = address
    let becomesGet =
      status == 303 ? request.method != .head : (status == 301 || status == 302) && request.method == .post
    if becomesGet {
      next.method = .get
      next.headerFields = RedirectFields.withoutBody(next.headerFields)
      if request.fields.hasBody { next.body = nil }
    } else if !request.hasReplayableBody {
      throw DispatchError(.bodyNotReplayable, phase: .awaitingHead, detail: "status \(status) to \(address.endPoint)")
    }
    // The caller's fields were meant for the caller's URL; an interceptor may have sent the request elsewhere.
    let wasMoved = request.endPoint != sent.endPoint || request.isSecure != sent.isSecure
    if !isSameOrigin || wasMoved {
      next.headerFields = RedirectFields.forAnotherOrigin(
        next.headerFields, of: request.fields.rare.observersFields)
    }
    if isKeptPublic { next.fields.rare.refusesPrivateAddresses = true }
    return next
  }

  private static func target(
    of request: DispatchRequest, _ sent: DispatchRequest, _ location: String
  ) throws(DispatchError) -> RequestAddress {
    let address: RequestAddress
    do {
      let host = HTTPField.Name("Host").flatMap { request.headerFields[$0] }
      address = try RequestAddress(location, relativeTo: sent.url, host: host)
    } catch {
      throw DispatchError(.badRedirect, phase: .awaitingHead, detail: error.detail, underlyingError: error)
    }
    // A remote server must not direct its client to a socket of this machine.
    guard !address.endPoint.isUnixSocket || address.endPoint == sent.endPoint else {
      throw DispatchError(.badRedirect, phase: .awaitingHead, detail: "to the socket \(address.endPoint.host)")
    }
    return address
  }

  /// Applies the request's policy. Returns whether the next request must not reach a private address.
  private static func check(
    _ redirect: ProposedRedirect, to address: RequestAddress, of request: DispatchRequest, _ sent: DispatchRequest,
    isSameOrigin: Bool, _ isFromPrivateAddress: Bool?
  ) throws(DispatchError) -> Bool {
    let policy = request.redirects
    func refused(_ why: String) -> DispatchError {
      DispatchError(
        .redirectRefused, phase: .awaitingHead,
        detail: "status \(redirect.statusCode) from \(redirect.from) to \(redirect.to): \(why)")
    }
    if let why = policy.objection(
      to: redirect, isSameOrigin: isSameOrigin, isDowngrade: sent.isSecure && !address.isSecure)
    {
      throw refused(why)
    }
    // A server behind a socket is on this machine. Its redirects stay on the socket or lead to the network.
    let isSenderPrivate = isFromPrivateAddress == true || sent.endPoint.isUnixSocket
    let isKeptPublic =
      request.fields.rare.refusesPrivateAddresses || policy.refusesPrivateAddresses && !isSenderPrivate
    // A host name is checked when its address is dialled.
    if isKeptPublic, AddressScope.isPrivate(address.endPoint.host) == true {
      throw refused("a public server must not redirect to a private address")
    }
    return isKeptPublic
  }
}
