#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateAsyncHTTPClient
import HeadgateDispatch
import NIOCore

/// The code of the module's front page, which asks a server that no test reaches: it is compiled only.
func fetchesPage() async throws -> ByteBuffer {
  let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
  let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 4)))

  let response = try await client.execute(HTTPClientRequest(url: "https://example.com/"), through: gate)
  let page = try await response.body.collect(upTo: 1 << 20)
  try await client.shutdown()
  return page
}
#endif
