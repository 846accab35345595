#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The value of `Authorization` for `user:password` by the scheme Basic: RFC 7617.
func basicAuthorization(_ credentials: String) -> String { "Basic " + Data(credentials.utf8).base64EncodedString() }
