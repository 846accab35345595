import HeadgateDispatch

/// Selects the URLs of this run: those of its shard, without duplicates if requested.
struct ListSelection: Sendable {
  enum Verdict { case taken, repeated, elsewhere }

  private let shard: Shard?
  private var seen: DigestSet?

  /// - Parameters:
  /// - shard: The shard. Nil: all URLs.
  /// - dedupes: Whether duplicates are skipped.
  init(shard: Shard?, dedupes: Bool) {
    self.shard = shard
    seen = dedupes ? DigestSet() : nil
  }

  /// The decision for the next URL.
  mutating func judge(_ url: String) throws(DispatchError) -> Verdict {
    guard shard != nil || seen != nil else { return .taken }
    let digest = try URLDigest(url)
    if let shard, !shard.has(digest) { return .elsewhere }
    return seen?.insert(digest) == false ? .repeated : .taken
  }
}
