@testable import HeadgateCurl

/// A gzip body: the result does not depend on its pieces.
@Sendable func fuzzBodies(_ bytes: UnsafeRawBufferPointer) {
  let whole = inflated(bytes, by: bytes.count)
  let cut = inflated(bytes, by: 3)
  precondition(whole.isWhole == cut.isWhole && whole.failed == cut.failed)
  // The data before an error depends on the pieces.
  precondition(whole.failed || whole.count == cut.count)
}

private func inflated(
  _ bytes: UnsafeRawBufferPointer, by most: Int
) -> (count: Int, isWhole: Bool, failed: Bool) {
  guard let body = GzipBody() else { return (0, true, false) }
  var count = 0
  var rest = bytes[...]
  while !rest.isEmpty {
    let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(most))
    rest = rest.dropFirst(most)
    let used = body.inflate(piece) {
      count += $0.count
      return true
    }
    if used == nil { return (count, false, true) }
    // A few bytes can expand to very many.
    if count > 1 << 20 { break }
  }
  return (count, body.isWhole, false)
}
