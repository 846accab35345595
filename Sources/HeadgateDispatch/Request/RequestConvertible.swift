#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The argument of the dispatcher's methods: a request, or the URL for a plain GET.
public protocol RequestConvertible: Sendable {
  /// The request. O(1) for a `DispatchRequest`, O(n) in the length of a URL.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`.
  func makeRequest() throws(DispatchError) -> DispatchRequest
}

extension DispatchRequest: RequestConvertible {
  /// Itself.
  public func makeRequest() -> DispatchRequest { self }
}

extension String: RequestConvertible {
  /// A `GET` of this URL: ``DispatchRequest/init(_:method:headerFields:body:)-(String,_,_,_)``.
  public func makeRequest() throws(DispatchError) -> DispatchRequest { try DispatchRequest(self) }
}

extension URL: RequestConvertible {
  /// A `GET` of this URL.
  public func makeRequest() throws(DispatchError) -> DispatchRequest { try DispatchRequest(self) }
}
