/// What became of the look-up of a name.
enum NameAnswer: Hashable, Sendable {
  /// Its addresses in numeric form, in the order in which they are to be tried.
  case addresses([String])
  /// There are none.
  case failed(NameFailure)
}

/// Why a name has no addresses.
struct NameFailure: Hashable, Sendable {
  /// The resolver's words.
  let detail: String
  /// Whether the name does not exist, by a server that knows it. Other failures may be over in a second.
  let isAuthoritative: Bool
}
