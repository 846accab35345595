import HTTPTypes

// The pages after the response to a request, whose URLs the server names.

extension DispatchRequest {
  /// The URL that a reference in the response to this request means, in the form of ``url``.
  ///
  /// - Parameter reference: A URL, or one relative to this request's.
  /// - Throws: `invalidURL` if it leads to no http or https URL.
  package func target(of reference: String) throws(DispatchError) -> String {
    let host = HTTPField.Name("Host").flatMap { headerFields[$0] }
    return try RequestAddress(reference, relativeTo: url, host: host).url
  }

  /// A GET of another URL of the same origin, with the header fields and limits of this request, and without its body
  /// and what describes the body. Nil if the URL has another scheme, host or port: the fields are not meant for it.
  ///
  /// - Parameter url: A URL with its scheme and host.
  /// - Throws: `invalidURL`.
  package func page(at url: String) throws(DispatchError) -> DispatchRequest? {
    let address = try RequestAddress(url)
    guard address.endPoint == endPoint, address.isSecure == isSecure else { return nil }
    var page = self
    page.method = .get
    page.body = nil
    page.headerFields = RedirectFields.withoutBody(page.headerFields)
    page.fields.address = address
    return page
  }
}
