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
