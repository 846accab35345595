@testable import HeadgateCurl
@testable import HeadgateDispatch

/// The lines of a head, in libcurl's order: no head exceeds its limit, and the fields that determine the body's length
/// are read once or refused.
@Sendable func fuzzHeads(_ bytes: UnsafeRawBufferPointer) {
  let cap = 512
  var head = HeadLines(atMost: cap)
  var rest = bytes[...]
  lines: while !rest.isEmpty {
    let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
    let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
    rest = rest[end...]
    switch head.takeUnlessKnown(line) {
    case .inside: break
    case .last:
      let block = head.copy
      precondition(block.count <= cap && (0...999).contains(head.status))
      _ = HeaderBlock.fields(in: block)
      precondition(HeaderBlock.mayTellQuotas(block) == head.tellsQuotas)
    case .tooLong, .malformed: break lines
    }
    precondition(head.taken <= cap && head.trailers.count <= cap)
    precondition(head.framing.length ?? 0 >= 0)
  }
}
