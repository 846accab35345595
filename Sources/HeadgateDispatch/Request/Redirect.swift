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
  /// 303 becomes a GET (HEAD stays), so do POSTs on 301 and 302; 307 and 308 repeat method and body. Credentials stay
  /// behind when scheme, host or port change. Limits on time and size go along.
  ///
  /// - Parameters:
  ///   - request: What it follows from: less what interceptors put in for the place where that was sent.
  ///   - sent: The request as it was sent, where that is another one.
  ///   - status: The redirect's status.
  ///   - location: Where it leads.
  /// - Throws: `badRedirect` when the address is no http or https URL, `bodyNotReplayable` when the body would have to
  ///   be sent again and must not be.
  static func next(
    after request: DispatchRequest, sentTo sent: DispatchRequest? = nil, status: Int, location: String
  ) throws(DispatchError) -> DispatchRequest {
    let sent = sent ?? request
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
    var method = request.method
    var body = request.body
    var fields = request.headerFields
    let becomesGet = status == 303 ? method != .head : (status == 301 || status == 302) && method == .post
    if becomesGet {
      method = .get
      body = nil
      for name in [.contentType, .contentEncoding, .contentLanguage, .contentLocation] as [HTTPField.Name] {
        fields[name] = nil
      }
    } else if let body, !body.isReplayable {
      throw DispatchError(.bodyNotReplayable, phase: .awaitingHead, detail: "status \(status) to \(address.endPoint)")
    }
    if address.endPoint != sent.endPoint || address.isSecure != sent.isSecure {
      for name in [.authorization, .cookie, .proxyAuthorization] as [HTTPField.Name] { fields[name] = nil }
      // A hand-written Host belongs to the old origin.
      if let host = HTTPField.Name("Host") { fields[host] = nil }
    }
    let (nextMethod, nextBody, nextFields) = (method, body, fields)
    return DispatchRequest(
      request.fields.changed(address: address) { settings in
        settings.method = nextMethod
        if request.fields.hasBody { settings.rare.body = nextBody }
        settings.headerFields = nextFields
      })
  }
}
