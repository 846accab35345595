/// One of several parts of a list. A URL is in the same part on every machine, at any position of the list.
struct Shard: Hashable, Sendable {
  /// The most parts of a list.
  static let most = 1_000_000

  /// Counts from 1.
  let number: Int
  let count: Int

  /// Parses `1/3`.
  init(_ text: String) throws(OptionError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(Self.number)
    guard parts.count == 2, let number = parts[0], let count = parts[1], 1...Self.most ~= count, 1...count ~= number
    else {
      throw OptionError(
        "write it as I/N, such as 1/3, 2/3 and 3/3 on three machines: N parts, at most \(Self.most), of which this is "
          + "the I-th")
    }
    (self.number, self.count) = (number, count)
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }

  /// Whether a URL is in this part. The first eight bytes of its digest, read as a big-endian number, are taken modulo
  /// the number of parts. The result is this part's number minus one.
  func has(_ digest: URLDigest) -> Bool { digest.high % UInt64(count) == UInt64(number - 1) }
}
