/// The result of a name look-up.
enum NameAnswer: Hashable, Sendable {
  /// The addresses in numeric form, in the order in which to try them.
  case addresses([String])
  /// There are no addresses.
  case failed(NameFailure)
}

/// Why a name has no addresses.
struct NameFailure: Hashable, Sendable {
  /// The message of the resolver.
  let detail: String
  /// Whether a server that is authoritative for the name says that it does not exist. Other failures may pass within a
  /// second.
  let isAuthoritative: Bool
}
