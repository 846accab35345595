import HeadgateDispatch

/// Which URLs of the lists are this run's: those of its part, each once.
struct ListSelection: Sendable {
  enum Verdict { case taken, repeated, elsewhere }

  private let shard: Shard?
  private var seen: DigestSet?

  /// - Parameters:
  ///   - shard: The part; nil: all.
  ///   - dedupes: Whether each URL is taken once.
  init(shard: Shard?, dedupes: Bool) {
    self.shard = shard
    seen = dedupes ? DigestSet() : nil
  }

  /// What becomes of the next URL.
  mutating func judge(_ url: String) throws(DispatchError) -> Verdict {
    guard shard != nil || seen != nil else { return .taken }
    let digest = try URLDigest(url)
    if let shard, !shard.has(digest) { return .elsewhere }
    return seen?.insert(digest) == false ? .repeated : .taken
  }
}
