/// A set of digests of URLs: between 22 and 43 bytes for each.
///
/// In parts, of which each grows alone: a whole set has twice its memory while it grows.
struct DigestSet: Sendable {
  private static let count = 256

  private var parts = [Set<URLDigest>](repeating: [], count: DigestSet.count)

  /// Adds a digest. Returns whether it was new.
  mutating func insert(_ digest: URLDigest) -> Bool {
    parts[Int(digest.high >> 56)].insert(digest).inserted
  }
}
