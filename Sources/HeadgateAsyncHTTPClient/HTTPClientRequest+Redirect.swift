#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import NIOHTTP1

extension DispatchRequest {
  /// What redirects change of a request: all but its body, since the client does not tell whether that can be sent
  /// again.
  init(_ request: HTTPClientRequest, _ redirects: RedirectPolicy, _ most: Int) throws(DispatchError) {
    try self.init(request.url)
    method = HTTPRequest.Method(request.method.rawValue) ?? .get
    headerFields = HTTPFields(request.headers)
    (self.redirects, maxRedirects) = (redirects, most)
  }
}

extension HTTPClientRequest {
  /// The request that follows a redirect. Nil if the same body would have to be sent again.
  func redirected(to next: DispatchRequest) -> HTTPClientRequest? {
    let losesBody = next.method.rawValue != method.rawValue
    guard losesBody || body == nil else { return nil }
    var followed = self
    followed.url = next.url
    followed.method = HTTPMethod(rawValue: next.method.rawValue)
    // No redirect adds a field. Those that stay are sent as they were written.
    let kept = next.headerFields
    followed.headers = HTTPHeaders(headers.filter { HTTPField.Name($0.name).map(kept.contains) ?? false })
    followed.body = nil
    return followed
  }
}

extension ResponseHead {
  init(_ response: HTTPClientResponse) {
    self.init(statusCode: Int(response.status.code), headerFields: HTTPFields(response.headers))
  }
}

extension HTTPFields {
  /// The client's fields, in order; fields with invalid names are dropped.
  fileprivate init(_ headers: HTTPHeaders) {
    self.init()
    reserveCapacity(headers.count)
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      append(HTTPField(name: name, value: value))
    }
  }
}
#endif
