// Tests/CorpusTests runs these too, on the corpus and its mutations, without the fuzzer.

/// The parsers, and the conditions that must hold for all bytes. That of `Replies.swift` needs the trait Redis.
let inputs: [String: @Sendable (UnsafeRawBufferPointer) -> Void] = [
  "addresses": fuzzAddresses,
  "bodies": fuzzBodies,
  "events": fuzzEvents,
  "fields": fuzzFields,
  "heads": fuzzHeads,
  "journals": fuzzJournals,
  "lists": fuzzLists,
  "names": fuzzNames,
  "permits": fuzzPermits,
]

/// The bytes in pieces of 1 to 7, as determined by the bytes themselves.
func pieces(of bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
  var pieces: [[UInt8]] = []
  var rest = bytes[...]
  while let first = rest.first {
    let count = min(rest.count, 1 + Int(first % 7))
    pieces.append(Array(rest.prefix(count)))
    rest = rest.dropFirst(count)
  }
  return pieces
}

/// The same input gives the same numbers.
struct FixedRandom: RandomNumberGenerator {
  var state: UInt64 = 1

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1
    return state
  }
}
