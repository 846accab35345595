// What a redirect makes of a request: RFC 9110 section 15.4, and the Fetch standard on methods and credentials.

import HTTPTypes

enum Redirect {
  /// Whether a status sends the client elsewhere. 300 and 304 do not: they need a choice or carry no address.
  static func isRedirect(_ status: Int) -> Bool {
    switch status {
    case 301, 302, 303, 307, 308: true
    default: false
    }
  }

  /// The request that follows.
  ///
  /// 303 becomes a GET (HEAD stays), so do POSTs on 301 and 302; 307 and 308 repeat method and body. When scheme, host
  /// or port change, only what is known to be no secret goes along: see `RedirectFields`. Limits on time and size go
  /// along.
  ///
  /// - Parameters:
  ///   - request: What it follows from: less what interceptors put in for the place where that was sent.
  ///   - sent: The request as it was sent, where that is another one.
  ///   - status: The redirect's status.
  ///   - location: Where it leads.
  ///   - isFromPrivateAddress: Whether a server at a private address says so; nil: not known.
  /// - Throws: `badRedirect` when the address is no http or https URL, `redirectRefused` when the request's policy does
  ///   not allow it, `bodyNotReplayable` when the body would have to be sent again and must not be.
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
    var method = request.method
    var body = request.body
    var fields = request.headerFields
    let becomesGet = status == 303 ? method != .head : (status == 301 || status == 302) && method == .post
    if becomesGet {
      method = .get
      body = nil
      fields = RedirectFields.withoutBody(fields)
    } else if let body, !body.isReplayable {
      throw DispatchError(.bodyNotReplayable, phase: .awaitingHead, detail: "status \(status) to \(address.endPoint)")
    }
    // Those of the caller were for where the caller sent them: an interceptor may have chosen another place.
    let wasMoved = request.endPoint != sent.endPoint || request.isSecure != sent.isSecure
    if !isSameOrigin || wasMoved {
      fields = RedirectFields.forAnotherOrigin(fields, of: request.fields.observersFields)
    }
    let (nextMethod, nextBody, nextFields) = (method, body, fields)
    return DispatchRequest(
      request.fields.changed(address: address) { settings in
        settings.method = nextMethod
        if request.fields.hasBody { settings.rare.body = nextBody }
        if isKeptPublic { settings.rare.refusesPrivateAddresses = true }
        settings.headerFields = nextFields
      })
  }

  private static func target(
    of request: DispatchRequest, _ sent: DispatchRequest, _ location: String
  ) throws(DispatchError) -> RequestAddress {
    let address: RequestAddress
    do {
      let host = HTTPField.Name("Host").flatMap { request.headerFields[$0] }
      address = try RequestAddress(location, relativeTo: sent.url, host: host)
    } catch {
      throw DispatchError(.badRedirect, phase: .awaitingHead, detail: error.detail, underlying: error)
    }
    // A server elsewhere must not make its client talk to a socket of this machine.
    guard !address.endPoint.isUnixSocket || address.endPoint == sent.endPoint else {
      throw DispatchError(.badRedirect, phase: .awaitingHead, detail: "to the socket \(address.endPoint.host)")
    }
    return address
  }

  /// Asks the request's policy. Returns whether what follows must not reach a private address.
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
    // What is behind a socket is on this machine, and its redirects stay there or lead to the network.
    let isSenderPrivate = isFromPrivateAddress == true || sent.endPoint.isUnixSocket
    let isKeptPublic =
      request.fields.refusesPrivateAddresses || policy.refusesPrivateAddresses && !isSenderPrivate
    // A name is looked at when it is dialled.
    if isKeptPublic, AddressScope.isPrivate(address.endPoint.host) == true {
      throw refused("a public server must not lead to a private address")
    }
    return isKeptPublic
  }
}
