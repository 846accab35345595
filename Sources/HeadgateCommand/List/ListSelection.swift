import HeadgateDispatch

/// Selects the URLs of this run: those of its shard, without duplicates if requested.
struct ListSelection: Sendable {
  enum Verdict { case taken, repeated, elsewhere }

  private let shard: Shard?
  private var seen: DigestSet?

  /// - Parameters:
  ///   - shard: The shard. Nil: all URLs.
  ///   - dedupes: Whether duplicates are skipped.
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

/// A set of digests of URLs. It takes between 22 and 43 bytes for each.
///
/// It is divided into parts that grow separately, since a single set would need twice its memory while it grows.
struct DigestSet: Sendable {
  private static let count = 256

  private var parts = [Set<URLDigest>](repeating: [], count: DigestSet.count)

  /// Adds a digest. Returns whether it was new.
  mutating func insert(_ digest: URLDigest) -> Bool {
    parts[Int(digest.high >> 56)].insert(digest).inserted
  }
}
