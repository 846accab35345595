@testable import HeadgateRedis

/// Replies of Redis: the result does not depend on their pieces, and no reply is larger than allowed.
@Sendable func fuzzReplies(_ bytes: UnsafeRawBufferPointer) {
  let whole = replies([Array(bytes)])
  precondition(whole.values.allSatisfy { size($0) <= bounds.elements + 1 })
  let cut = replies(pieces(of: bytes))
  precondition(whole.values == cut.values && whole.failure == cut.failure)
}

private let bounds = RESPParser.Bounds(line: 64, bulk: 128, elements: 32, depth: 4)

private func replies(_ pieces: [[UInt8]]) -> (values: [RESPValue], failure: RESPParser.Failure?) {
  var parser = RESPParser(bounds)
  var values: [RESPValue] = []
  for piece in pieces {
    parser.append(piece)
    do throws(RESPParser.Failure) {
      while let value = try parser.next() { values.append(value) }
    } catch {
      return (values, error)
    }
  }
  return (values, nil)
}

/// The number of values in a reply.
private func size(_ value: RESPValue) -> Int { (value.array ?? []).reduce(1) { $0 + size($1) } }
