#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import NIOHTTP1

extension HTTPClientRequest {
  /// The request for async-http-client, without its body.
  init(_ exchange: Exchange, number: Int, userAgent: String) {
    let request = exchange.request
    self.init(url: request.url)
    method = HTTPMethod(rawValue: request.method.rawValue)
    for field in request.headerFields where !field.name.isTransports && field.name != .cookie {
      headers.add(name: field.name.rawName, value: field.value)
    }
    // HTTPFields stores cookies separately, but many servers read only the first Cookie field.
    if let cookies = request.headerFields[.cookie] { headers.add(name: "Cookie", value: cookies) }
    // The client writes IPv6 addresses without brackets, and no host for a socket.
    if !headers.contains(name: "Host") { headers.add(name: "Host", value: request.authority) }
    if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: userAgent) }
    // A body that may be paused must not be compressed: decompression can't pause within an inflated block.
    if !headers.contains(name: "Accept-Encoding") {
      let isPlain = exchange.mayPause || request.acceptsCompression == false
      headers.add(name: "Accept-Encoding", value: isPlain ? "identity" : "gzip, deflate")
    }
    headers.replaceOrAdd(name: ExchangeRegistry.fieldName, value: "\(number)")
  }
}

extension DispatchRequest {
  /// The value of the `Host` field: no user, no zone, `localhost` for a Unix-domain socket.
  fileprivate var authority: String {
    if endPoint.isUnixSocket { return "localhost" }
    let standard = isSecure ? 443 : 80
    let host = endPoint.isIPv6 ? "[\(endPoint.host.prefix { $0 != "%" })]" : endPoint.host
    return endPoint.port == standard ? host : "\(host):\(endPoint.port)"
  }
}

extension HTTPFields {
  /// The client's fields, in order; fields with invalid names are dropped.
  init(_ headers: HTTPHeaders) {
    self.init()
    reserveCapacity(headers.count)
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      append(HTTPField(name: name, value: value))
    }
  }
}
#endif
