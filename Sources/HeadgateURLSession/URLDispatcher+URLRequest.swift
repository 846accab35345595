import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Foundation's types: URLRequest in, Data and URLResponse out. Works with every transport.

extension DispatchRequest {
  /// Creates a request from the URL, method, fields and body of a URLRequest.
  ///
  /// Its `timeoutInterval` becomes `DispatchRequest/timeout`, which counts from the permit rather than the
  /// submission, so that waiting in the queue is not counted. Zero or less means no limit, as in URLRequest. Cache
  /// policies and cookies are ignored.
  ///
  /// - Throws: `DispatchError` with `invalidURL` if it has no absolute http or https URL, and with `transportFailed`
  ///   if its body is a stream, which can't be sent again.
  public init(_ request: URLRequest) throws(DispatchError) {
    guard let url = request.url else { throw DispatchError(.invalidURL, detail: "the URLRequest has no URL") }
    guard request.httpBodyStream == nil else {
      throw DispatchError(.transportFailed, detail: "a stream can't be sent twice; use httpBody")
    }
    guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
      throw DispatchError(.transportFailed, detail: "\"\(request.httpMethod ?? "")\" is not a valid method")
    }
    var fields = HTTPFields()
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      guard let fieldName = HTTPField.Name(name) else {
        throw DispatchError(.transportFailed, detail: "\"\(name)\" is not a valid name of a header field")
      }
      fields.append(HTTPField(name: fieldName, value: value))
    }
    let body = request.httpBody.map { RequestBody($0) }
    try self.init(url, method: method, headerFields: fields, body: body)
    let seconds = request.timeoutInterval
    // More than a century counts as no limit, and would overflow later arithmetic.
    timeout = seconds > 0 && seconds < URLSessionTransport.never ? .seconds(seconds) : nil
  }
}

extension DispatchResponse {
  /// The response as Foundation's `URLResponse`.
  public var urlResponse: URLResponse {
    let address = URL(string: url) ?? URL(fileURLWithPath: "/")
    var fields: [String: String] = [:]
    for field in headerFields {
      let name = field.name.rawName
      fields[name] = fields[name].map { $0 + ", " + field.value } ?? field.value
    }
    return HTTPURLResponse(url: address, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: fields)
      ?? URLResponse(url: address, mimeType: nil, expectedContentLength: body.count, textEncodingName: nil)
  }
}

extension URLDispatcher {
  /// Sends a request, like `URLSession.data(for:)`, within the limits of the end-point.
  ///
  /// - Throws: `DispatchError`, as for the form that takes a `DispatchRequest`, and as for
  ///   `DispatchRequest/init(_:)-(URLRequest)` if the request is not valid.
  public nonisolated(nonsending) func data(
    for request: URLRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> (Data, URLResponse) {
    let response = try await data(for: DispatchRequest(request), lane: lane, policy: policy)
    return (Data(response.body), response.urlResponse)
  }

  /// Sends a short request and returns at once. `completion` is called once, like that of `URLSession.dataTask`: with
  /// data and response, or with the error. See `dispatch(_:lane:policy:completion:)` for the thread.
  ///
  /// - Returns: The operation. Nil if the request is not valid; then the completion got the error inside this call.
  @discardableResult
  public func dispatch(
    _ request: URLRequest, completion: @escaping @Sendable (Data?, URLResponse?, DispatchError?) -> Void
  ) -> URLDispatchOperation? {
    do throws(DispatchError) {
      return dispatch(try DispatchRequest(request)) { result in
        switch result {
        case .success(let response): completion(Data(response.body), response.urlResponse, nil)
        case .failure(let error): completion(nil, nil, error)
        }
      }
    } catch {
      completion(nil, nil, error)
      return nil
    }
  }
}
