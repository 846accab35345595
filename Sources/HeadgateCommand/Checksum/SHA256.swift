import HeadgateDispatch

// Identifies outside data, such as rows and URLs, by its content. With a weaker hash, one row could be made to pass for
// another, which would then never be sent.

extension SHA256 {
  /// The first half of the sum, as two big-endian numbers.
  static func half(of message: some Collection<UInt8>) -> (high: UInt64, low: UInt64) {
    let sum = sum(message)
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return (word(sum[0..<8]), word(sum[8..<16]))
  }

  /// The first hexadecimal digits of the sum, at most 64.
  static func digits(of message: some Collection<UInt8>, _ count: Int) -> String {
    var hash = SHA256()
    hash.update(Array(message))
    return String("\(Checksum(hash))".prefix(count))
  }
}
