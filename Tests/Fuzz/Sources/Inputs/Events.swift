@testable import HeadgateDispatch

/// A stream of events: the result does not depend on its pieces, and no event is longer than allowed.
@Sendable func fuzzEvents(_ bytes: UnsafeRawBufferPointer) {
  let longest = 64
  let whole = events([Array(bytes)], longest)
  precondition(whole.events.allSatisfy { $0.data.utf8.count <= 3 * longest })
  let cut = events(pieces(of: bytes), longest)
  precondition(whole.events == cut.events && whole.id == cut.id && whole.failed == cut.failed)
}

private func events(
  _ pieces: [[UInt8]], _ longest: Int
) -> (events: [ServerSentEvent], id: String, failed: Bool) {
  var parser = EventParser(maxEventBytes: longest)
  var events: [ServerSentEvent] = []
  for piece in pieces {
    parser.add(piece)
    do {
      while let event = try parser.next() { events.append(event) }
    } catch {
      return (events, parser.lastEventID, true)
    }
  }
  return (events, parser.lastEventID, false)
}
