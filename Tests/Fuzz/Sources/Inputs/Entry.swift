import Foundation

/// The fuzzed parsers: a name, as given by HEADGATE_FUZZ, and the conditions that must hold for all bytes.
private let inputs: [String: @Sendable (UnsafeRawBufferPointer) -> Void] = [
  "addresses": fuzzAddresses,
  "bodies": fuzzBodies,
  "events": fuzzEvents,
  "fields": fuzzFields,
  "heads": fuzzHeads,
  "journals": fuzzJournals,
  "lists": fuzzLists,
  "names": fuzzNames,
  "permits": fuzzPermits,
  "replies": fuzzReplies,
]

private let chosen = {
  let name = ProcessInfo.processInfo.environment["HEADGATE_FUZZ"] ?? ""
  guard let input = inputs[name] else {
    fatalError("HEADGATE_FUZZ must name one of: \(inputs.keys.sorted().joined(separator: ", "))")
  }
  return input
}()

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

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
