import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The classic library's currency: URLRequest in, Data and URLResponse out. Works over every transport.

extension DispatchRequest {
  /// The request that a URLRequest stands for: address, method, fields and body.
  ///
  /// Its `timeoutInterval` becomes `DispatchRequest/timeout`, which counts from the permit and not from the submission:
  /// waiting is not the network's fault. Zero and less mean no limit, as URLRequest has it. Cache policies and cookies are
  /// of no meaning here.
  ///
  /// - Throws: `DispatchError` with `invalidURL` when it has no absolute http or https URL, and with `transportFailed`
  ///   when its body is a stream, which can't be sent a second time.
  public init(_ request: URLRequest) throws(DispatchError) {
    guard let url = request.url else { throw DispatchError(.invalidURL, detail: "the URLRequest has none") }
    guard request.httpBodyStream == nil else {
      throw DispatchError(.transportFailed, detail: "a body that is a stream can't be sent twice; use httpBody")
    }
    guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
      throw DispatchError(.transportFailed, detail: "\"\(request.httpMethod ?? "")\" is no method")
    }
    var fields = HTTPFields()
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      guard let fieldName = HTTPField.Name(name) else {
        throw DispatchError(.transportFailed, detail: "\"\(name)\" is no name of a header field")
      }
      fields.append(HTTPField(name: fieldName, value: value))
    }
    let body = request.httpBody.map { RequestBody($0) }
    try self.init(url, method: method, headerFields: fields, body: body)
    let seconds = request.timeoutInterval
    // Longer than a century is as good as no limit, and short enough for all arithmetic.
    timeout = seconds > 0 && seconds < URLSessionTransport.never ? .seconds(seconds) : nil
  }
}

extension DispatchResponse {
  /// The response as Foundation knows it.
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
  /// Sends a request, as `URLSession.data(for:)` does, and never more at once than the end-point tolerates.
  ///
  /// - Throws: `DispatchError`, as the form that takes a `DispatchRequest`; and as
  ///   `DispatchRequest/init(_:)-(URLRequest)` where the request can't be sent.
  public nonisolated(nonsending) func data(
    for request: URLRequest, lane: RequestLane = .short, policy: LongRequestPolicy = .enqueue
  ) async throws(DispatchError) -> (Data, URLResponse) {
    let response = try await data(for: DispatchRequest(request), lane: lane, policy: policy)
    return (Data(response.body), response.urlResponse)
  }

  /// Sends a short request and returns at once; `completion` is called once, as that of `URLSession.dataTask` is: with the
  /// data and the response, or with the error. See `dispatchShort(_:completion:)` for where it runs.
  ///
  /// - Returns: The operation; nil where the request can't be sent: the completion got the error then, inside this call.
  @discardableResult
  public func dispatchShort(
    _ request: URLRequest, completion: @escaping @Sendable (Data?, URLResponse?, DispatchError?) -> Void
  ) -> URLDispatchOperation? {
    do throws(DispatchError) {
      return dispatchShort(try DispatchRequest(request)) { result in
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
